// The part that is used of a package without types of its own.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: object });
    /** Those of the available encodings that the client takes, the preferred one first. */
    encodings(available: readonly string[]): string[];
    /** The same for media types. */
    mediaTypes(available: readonly string[]): string[];
  }
}
