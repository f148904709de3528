import type { Answers, Operation } from '../operation.ts';

/** P16: whether the answers of an operation of the panel bear a tag and may be 304: it reads, and answers with JSON. */
export const isTagged = ({ method, answers }: Pick<Operation, 'method' | 'answers'>): boolean =>
  method === 'get' && answers.some(isJson);

/**
 * P16: whether an answer may be compressed. Secrets are shown by the answers to writes, beside names that others may
 * have chosen, and the length of a compressed answer would tell of them (BREACH); so it would of evidence.
 */
export const isCompressed = (operation: Pick<Operation, 'method' | 'answers' | 'uncompressed'>): boolean =>
  isTagged(operation) && operation.uncompressed !== true;

const isJson = ({ status, schema }: Answers[number]): boolean => status === 200 && schema !== undefined;

/** An operation of the panel with the answers that it has by its tag, as the document tells of them. */
export function withTag<One extends Operation>(operation: One): One {
  if (!isTagged(operation)) return operation;
  const [first, ...others] = operation.answers.map((answer) =>
    isJson(answer) ? { ...answer, headers: [...(answer.headers ?? []), 'ETag' as const] } : answer,
  );
  if (first === undefined) return operation;
  const same = { status: 304, description: 'The client has this answer already.', headers: ['ETag'] } as const;
  return {
    ...operation,
    headers: [...(operation.headers ?? []), 'If-None-Match'],
    answers: [first, ...others, same],
  };
}
