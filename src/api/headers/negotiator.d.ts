// The part that is used of a package without types of its own.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: object });
    /** Returns the available encodings that the client takes, the preferred one first. */
    encodings(available: readonly string[]): string[];
    /** The media types among the available ones that the client takes, the preferred one first. */
    mediaTypes(available: readonly string[]): string[];
  }
}
