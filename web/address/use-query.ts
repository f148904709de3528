import { useCallback, useMemo } from 'preact/hooks';
import { changeQuery } from './address.ts';
import { useQueryText } from './use-address.ts';

/** A part of a page's state that stands in the query of its address. */
export interface Field<Value extends string> {
  /** Its value where the address has none, or one that is not accepted. */
  readonly initial: Value;
  readonly accepts: (value: string) => value is Value;
}

/** Any text of at most so many characters. */
export const anyText = (maxLength: number): Field<string> => ({
  initial: '',
  accepts: (value): value is string => value.length <= maxLength,
});

/** One of these values, of which the first is the initial one. */
export function oneOf<Value extends string>(initial: Value, ...others: readonly Value[]): Field<Value> {
  return { initial, accepts: (value): value is Value => [initial, ...others].some((known) => known === value) };
}

type Fields = Readonly<Record<string, Field<string>>>;
export type QueryState<Of extends Fields> = {
  readonly [Name in keyof Of]: Of[Name] extends Field<infer Value> ? Value : never;
};

interface Query<Of extends Fields> {
  readonly state: QueryState<Of>;
  /** With `adds`, Back leads to the state of before; without, it leaves the page. */
  readonly change: (part: Partial<QueryState<Of>>, options?: { readonly adds?: boolean }) => void;
}

/**
 * A page's state in the query of its address.
 * @param fields by their names in the query; the same object at each call
 */
export function useQuery<const Of extends Fields>(fields: Of): Query<Of> {
  const query = useQueryText();
  const state = useMemo(() => {
    const parameters = new URLSearchParams(query);
    const values = Object.entries(fields).map(([name, { initial, accepts }]) => {
      const value = parameters.get(name);
      return [name, value !== null && accepts(value) ? value : initial];
    });
    return Object.fromEntries(values) as QueryState<Of>;
  }, [query, fields]);
  const change = useCallback<Query<Of>['change']>(
    (part, options) => {
      const values = Object.entries<string | undefined>(part);
      const told = values.map(([name, value]) => [name, value === fields[name]?.initial ? undefined : value]);
      changeQuery(Object.fromEntries(told) as Record<string, string | undefined>, options);
    },
    [fields],
  );
  return { state, change };
}
