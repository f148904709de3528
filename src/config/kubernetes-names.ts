import * as z from 'zod';

/* The rules of the variables that name objects of Kubernetes. */

const NAMESPACES_MAX = 1000;
const NAMESPACE = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
/** Whether Kubernetes takes the name for a namespace. */
/** The name of one namespace. */
export const NAMESPACE_NAME = new RegExp(`^${NAMESPACE}$`);
export const isNamespace = (name: string): boolean => NAMESPACE_NAME.test(name);
/** Names of namespaces, with commas between them. */
export const namespaces = z.string().transform((value, ctx): readonly string[] => {
  const named = [...new Set(value.split(','))];
  if (named.length <= NAMESPACES_MAX && named.every(isNamespace)) {
    return named;
  }
  ctx.addIssue(`must be at most ${NAMESPACES_MAX} names of namespaces with commas between them`);
  return z.NEVER;
});

const LABEL_NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const LABEL_KEY = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${LABEL_NAME}`;
const LABEL_VALUE = `(?:${LABEL_NAME})?`;
const REQUIREMENT = `(?:!?${LABEL_KEY}|${LABEL_KEY} ?(?:=|==|!=) ?${LABEL_VALUE}|${LABEL_KEY} (?:in|notin) \\(${LABEL_VALUE}(?:, ?${LABEL_VALUE})*\\))`;
/** A selector of labels as kubectl takes it. */
export const labelSelector = z
  .string()
  .max(4096, 'must have at most 4096 characters')
  .regex(
    new RegExp(`^${REQUIREMENT}(?:, ?${REQUIREMENT})*$`),
    'must be a selector of labels as kubectl takes it, as in team=a,env in (test, live),!legacy',
  );

/** An object of Kubernetes by its namespace and name. */
export const namespacedName = z
  .string()
  .max(253)
  .regex(new RegExp(`^${NAMESPACE}/[a-z0-9](?:[-a-z0-9.]{0,187}[a-z0-9])?$`), 'must be NAMESPACE/NAME');

/** The scope in which the operator may watch. */
export const scope = z.enum(['cluster', 'namespaces'], 'must be cluster or namespaces');
