import { setImmediate as nextImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import { faultsIn } from '../operations/faults.ts';
import { CALLER_JSON_LIMITS, callerJsonFault, type JsonFault } from '../platform/caller-json.ts';
import { type ParameterFault, SoukError } from '../platform/errors.ts';
import { parseJson } from '../platform/json.ts';
import type { Pause } from './pauses.ts';

/** A fault of the request, or of one of its items. */
export type BatchFault = ParameterFault & { index?: number };

/** The message lists this many faults; the metadata has all of them. */
const FAULTS_IN_MESSAGE = 5;

/** The refusal of a request, with all of its faults. */
export class BatchFaults extends SoukError {
  readonly faults: readonly BatchFault[];

  constructor(faults: readonly BatchFault[]) {
    const listed = faults.slice(0, FAULTS_IN_MESSAGE).map(textOf);
    const more = faults.length > listed.length ? [`and ${faults.length - listed.length} more`] : [];
    super('VALIDATION_FAILED', {
      message: [...listed, ...more].join('; '),
      metadata: { errors: faults },
    });
    this.faults = faults;
  }
}

function textOf({ index, parameter, problem }: BatchFault): string {
  return index === undefined ? `${parameter}: ${problem}` : `items[${index}].${parameter}: ${problem}`;
}

function recordsFault(text: string): JsonFault | null {
  return callerJsonFault(text, CALLER_JSON_LIMITS.levelsOfRecords);
}

/** Parses a JSON document with a schema. Other work runs before and after the document is parsed. @throws BatchFaults. */
export async function parseBody<Value>(schema: z.ZodType<Value>, body: string): Promise<Value> {
  const tooLarge = recordsFault(body);
  if (tooLarge) throw new BatchFaults([{ parameter: 'body', ...tooLarge }]);
  await nextImmediate();
  let document: unknown;
  try {
    document = parseJson(body);
  } catch {
    throw new BatchFaults([{ parameter: 'body', problem: 'is not valid JSON' }]);
  }
  await nextImmediate();
  return parseAs(schema, document);
}

/** @throws BatchFaults. */
export function parseAs<Value>(schema: z.ZodType<Value>, raw: unknown): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw new BatchFaults(faultsIn(result.error));
}

/** The limit of the body of a single request, less room for the data that a queue adds. */
export const LARGEST_ITEM_BYTES = 48 * 1024;

/** A longer line is not parsed. Escapes such as \\u00e9 take up to three times the bytes of their characters. */
const LONGEST_LINE = 3 * LARGEST_ITEM_BYTES;

export function itemTooLarge(bytes: number): string {
  return `must be at most ${LARGEST_ITEM_BYTES} bytes of JSON, got ${bytes}`;
}

/** A line that has no value to read. */
export class Unreadable {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** A line of an upload, which is parsed when it is read. */
export class Line {
  readonly #number: number;
  readonly #text: string;

  constructor(number: number, text: string) {
    this.#number = number;
    this.#text = text;
  }

  read(): unknown {
    const text = this.#text.trim();
    if (text.length > LONGEST_LINE)
      return new Unreadable(
        `line ${this.#number} must be at most ${LONGEST_LINE} characters, got ${text.length}`,
      );
    const tooLarge = recordsFault(text);
    if (tooLarge) return new Unreadable(tooLarge.problem);
    try {
      return parseJson(this.#text);
    } catch {
      return new Unreadable(`line ${this.#number} is not valid JSON`);
    }
  }
}

const LINES_TOGETHER = 1_000;

/**
 * Divides an upload into its lines without the empty ones, so a file may end with one.
 * @returns the first `most` lines, and how many there are.
 */
export async function linesOf(
  body: string,
  most: number,
  pause: Pause,
): Promise<{ lines: Line[]; count: number }> {
  const lines: Line[] = [];
  let count = 0;
  let start = 0;
  let number = 1;
  for (let end = 0; end <= body.length; end += 1) {
    if (end < body.length && body[end] !== '\n') continue;
    const text = body.slice(start, end);
    if (text.trim() !== '') {
      count += 1;
      if (count <= most) lines.push(new Line(number, text));
    }
    start = end + 1;
    number += 1;
    if (number % LINES_TOGETHER === 0) await pause();
  }
  return { lines, count };
}
