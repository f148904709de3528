/*
 * Texts that the browser keeps for a person, or the tab for a visit. Where the browser forbids the storage, or it is
 * full, a text holds until the page is loaded again.
 */

interface Kept {
  /** The text of a name; undefined where there is none. */
  readonly read: (name: string) => string | undefined;
  /** @param text undefined forgets the name @returns whether the text outlasts the page */
  readonly write: (name: string, text: string | undefined) => boolean;
}

/** @param storage throws where the browser forbids it */
function keptIn(storage: () => Storage): Kept {
  const unkept = new Map<string, string | undefined>();
  return {
    read(name) {
      if (unkept.has(name)) return unkept.get(name);
      try {
        return storage().getItem(name) ?? undefined;
      } catch {
        return undefined;
      }
    },
    write(name, text) {
      try {
        if (text === undefined) storage().removeItem(name);
        else storage().setItem(name, text);
        unkept.delete(name);
        return true;
      } catch {
        unkept.set(name, text);
        return false;
      }
    },
  };
}

export const browserKeeps = keptIn(() => localStorage);
export const tabKeeps = keptIn(() => sessionStorage);

/** The JSON value of a text that another program may have written; undefined where it is none. */
export function valueOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
