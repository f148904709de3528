/** What an app's id is (section 2.1). */
export const APP_ID = /^[a-z0-9]{20}$/;
const ID_LENGTH = 20;

/** Of the paths of `/v1` with an app in them: what they begin with. */
const PARAMETER = ':appId';
const OF_APP = `/v1/apps/${PARAMETER}`;
const BEFORE_ID = OF_APP.slice(0, -PARAMETER.length);
const ID_END = BEFORE_ID.length + ID_LENGTH;

interface Routed {
  readonly method: string;
  readonly path: string;
}

export interface Plain<Operation> {
  readonly operate: Operation;
  /** Of the path; `''` where the route has none. */
  readonly appId: string;
}

/**
 * Routes by targets that are spelled as their templates are: no escape in the path, the method itself. Such a target is
 * looked up; what is spelled in another way, or not at all, is Express's to judge, and has the same answer there.
 */
export class PlainRoutes<Operation> {
  readonly #byTarget = new Map<string, Operation>();

  add({ method, path }: Routed, operation: Operation): void {
    this.#byTarget.set(`${method.toUpperCase()} ${path}`, operation);
  }

  /** @param target path and query */
  find(method: string, target: string): Plain<Operation> | undefined {
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    // A template is no target: the letters of its parameter stand for an id.
    if (path.includes(':')) return undefined;
    const appId = path.startsWith(BEFORE_ID) ? path.slice(BEFORE_ID.length, ID_END) : '';
    if (!APP_ID.test(appId)) return this.#found(`${method} ${path}`, '');
    return this.#found(`${method} ${OF_APP}${path.slice(ID_END)}`, appId);
  }

  #found(key: string, appId: string): Plain<Operation> | undefined {
    const operate = this.#byTarget.get(key);
    return operate && { operate, appId };
  }
}
