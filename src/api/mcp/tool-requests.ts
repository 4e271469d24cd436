import { didYouMean } from '../../operations/faults.ts';
import { got } from '../../operations/params/scalars.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import type { Arguments } from './tool.ts';

/** Values in a path: ids from earlier answers. */
const PATH_VALUE = /^[A-Za-z0-9-]{1,64}$/;

/** Returns the address with `{id}` or `:id` replaced. @throws SoukError VALIDATION_FAILED. */
export function pathWith(path: string, args: Arguments): string {
  return path.replace(/\{(\w+)\}|:(\w+)/g, (_, braced?: string, colon?: string) => {
    const name = braced ?? colon ?? '';
    const value = args[name];
    if (value === undefined || value === null)
      throw invalidParameters([{ parameter: name, problem: 'is required' }]);
    const isWord = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
    const text = isWord ? String(value) : '';
    if (PATH_VALUE.test(text)) return text;
    const problem = got('must be an id from an earlier answer', value);
    throw invalidParameters([{ parameter: name, problem }]);
  });
}

/** Returns the arguments as a query; empty without arguments. Lists are repeated, so that their items may hold commas. */
export function queryOf(args: Arguments): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined || value === null) continue;
    for (const item of Array.isArray(value) ? value : [value])
      query.append(name, typeof item === 'object' && item !== null ? textOf(item) : String(item));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the arguments as a body. @throws SoukError VALIDATION_FAILED if they are nested too deeply. */
export function textOf(value: unknown): string {
  try {
    return stringifyJson(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidParameters([{ parameter: 'arguments', problem: 'are nested too deeply' }]);
  }
}

/** @throws SoukError VALIDATION_FAILED naming the arguments that are not among `known`. */
export function refuseUnknown(args: Arguments, known: ReadonlySet<string>, shown: readonly string[]): void {
  const unknown = Object.keys(args).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const accepted = `its arguments are ${shown.join(', ')}`;
  throw invalidParameters(
    // Limits the answer to a request with very many unknown arguments.
    unknown.slice(0, 10).map((name) => ({
      parameter: name.slice(0, 100),
      problem: `is not an argument of this tool${didYouMean(name, known) || `; ${accepted}`}`,
    })),
  );
}

/** Splits the arguments into those with one of these names, and the others. */
export function split(args: Arguments, names: ReadonlySet<string>): [Arguments, Arguments] {
  const entries = Object.entries(args);
  return [
    Object.fromEntries(entries.filter(([name]) => names.has(name))),
    Object.fromEntries(entries.filter(([name]) => !names.has(name))),
  ];
}

/** Some models send null for every parameter that they do not use. */
export function withoutNulls(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}
