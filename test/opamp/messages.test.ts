import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DescMessage } from '@bufbuild/protobuf';
import { parse as parseYaml } from 'yaml';
import * as fc from 'fast-check';
import { Namespace, parse, Type } from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { collectorScalar } from '../../src/opamp/collector-scalar.ts';
import { file_opamp } from '../../src/opamp/generated/opamp_pb.ts';
import { agentMessageBytes, answerBytes, BadMessage, readAgentMessage } from '../../src/opamp/messages.ts';
import { runs } from '../support/run/effort.ts';
import { ROOT } from '../support/repository/source-tree.ts';

/** A message as name, number, kind and repetition of its fields. */
type Shape = Readonly<Record<string, string>>;

const shapesOf = (messages: readonly DescMessage[]): Readonly<Record<string, Shape>> =>
  Object.fromEntries(
    messages
      .flatMap((message) => [message, ...message.nestedMessages])
      .filter(({ file, typeName }) => file.name !== '' && !typeName.endsWith('Entry'))
      .map(({ name, fields }) => [
        name,
        Object.fromEntries(fields.map(({ name: field, number, fieldKind }) => [field, `${number} ${fieldKind}`])),
      ]),
  );

describe('the generated messages', () => {
  test('are those of opamp.proto, field by field', () => {
    const { root } = parse(readFileSync(join(ROOT, 'src/opamp/opamp.proto'), 'utf8'), { keepCase: true });
    const space = root.lookup('muster.opamp');
    if (!(space instanceof Namespace)) throw new Error('opamp.proto has no package muster.opamp');
    const written = Object.fromEntries(
      space.nestedArray
        .filter((each) => each instanceof Type)
        .map(({ name, fieldsArray }) => [name, Object.fromEntries(fieldsArray.map((field) => [field.name, field.id]))]),
    );
    const generated = Object.fromEntries(
      Object.entries(shapesOf(file_opamp.messages)).map(([name, shape]) => [
        name,
        Object.fromEntries(Object.entries(shape).map(([field, told]) => [field, Number.parseInt(told, 10)])),
      ]),
    );
    expect(generated).toEqual(written);
    expect(Object.keys(generated).length).toBeGreaterThan(15);
  });

  test('have the numbers and kinds that another implementation has', () => {
    const { file_opamp: theirs } = createRequire(import.meta.url)(
      '@elastic/opamp-client-node/lib/generated/opamp_pb.js',
    ) as { file_opamp: { messages: readonly DescMessage[] } };
    const { file_anyvalue: values } = createRequire(import.meta.url)(
      '@elastic/opamp-client-node/lib/generated/anyvalue_pb.js',
    ) as { file_anyvalue: { messages: readonly DescMessage[] } };
    const others = shapesOf([...theirs.messages, ...values.messages]);
    const unlike = Object.entries(shapesOf(file_opamp.messages)).flatMap(([message, fields]) =>
      Object.entries(fields)
        .filter(([field, told]) => others[message]?.[field] !== told)
        .map(([field]) => `${message}.${field}`),
    );
    // These came into the protocol after that implementation.
    expect(unlike).toEqual([
      'OpAMPConnectionSettings.tls',
      'TLSConnectionSettings.ca_pem_contents',
      'TLSConnectionSettings.include_system_ca_certs_pool',
      'TLSConnectionSettings.insecure_skip_verify',
    ]);
  });
});

describe('a message of an agent', () => {
  test('with fields that are not known is read; these are skipped', () => {
    const known = agentMessageBytes({ sequenceNum: 7n });
    const unknown = Buffer.from([0x32, 3, 1, 2, 3, 0xf8, 0x07, 1]);
    const read = readAgentMessage(Buffer.concat([unknown, known, unknown]));
    expect(read.sequenceNum).toBe(7n);
    expect(read.$unknown).toBeUndefined();
  });

  test('may describe the agent by 32 KiB, all parts together', () => {
    const part = (bytes: number): Uint8Array =>
      agentMessageBytes({ agentDescription: { identifyingAttributes: [{ key: 'x'.repeat(bytes) }] } });
    expect(() => readAgentMessage(part(32_700))).not.toThrow();
    expect(() => readAgentMessage(part(33_000))).toThrow(BadMessage);
    expect(() => readAgentMessage(Buffer.concat([part(17_000), part(17_000)]))).toThrow('32768 bytes');
  });

  test.each([
    [2, 'a number that holds fields, which the parser would read'],
    [4, 'another one'],
    [10, 'flags'],
  ])('with field %i as bytes is refused: %s', (field) => {
    const description = agentMessageBytes({ agentDescription: { identifyingAttributes: [{ key: 'x' }] } });
    const hidden = Buffer.concat([Buffer.from([(field << 3) | 2, description.length]), description]);
    expect(() => readAgentMessage(hidden)).toThrow('another type');
  });

  test.each([
    [Buffer.alloc(202, Buffer.from([0x10, 1])), 'more than 100 fields'],
    [Buffer.from([0x33, 0x34]), 'a group'],
    [agentMessageBytes({ instanceUid: new Uint8Array(65) }), 'instance_uid'],
    [agentMessageBytes({ health: { lastError: 'x'.repeat(131_072) } }), 'health'],
    [agentMessageBytes({ remoteConfigStatus: { errorMessage: 'x'.repeat(16_384) } }), 'remote_config_status'],
  ])('that says too much is refused: %#, %s', (bytes, why) => {
    expect(() => readAgentMessage(bytes)).toThrow(why);
  });

  test('of any bytes is read or refused, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          readAgentMessage(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(BadMessage);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

test('an answer has the id, the capabilities, and nothing more where there is nothing to say', () => {
  expect(answerBytes(new Uint8Array(16).fill(1))).toHaveLength(20);
});

test('a scalar is read by YAML as the text with every dollar doubled', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(parseYaml(`x: ${collectorScalar(text)}`)).toEqual({ x: text.replaceAll('$', '$$$$') });
      expect(collectorScalar(text)).toMatch(/^[\x20-\x7e]*$/);
    }),
    { numRuns: runs(200) },
  );
});
