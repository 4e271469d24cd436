import { callerJsonFault } from '../../platform/caller-json.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import type { RawRequest, Route } from '../define.ts';

/** The routes of an operation that takes a selection: as the body of a POST, or as JSON in a GET's `selection`. */
export function selectionRoutes(...paths: readonly [string, ...string[]]): readonly [Route, ...Route[]] {
  const routes = paths.flatMap((path): Route[] => [
    { method: 'POST', path, invalidJsonKind: 'SELECTION_INVALID' },
    { method: 'GET', path, decode: selectionOf, jsonParameter: 'selection' },
  ]);
  return routes as [Route, ...Route[]];
}

function selectionOf({ query: { selection } }: RawRequest): unknown {
  if (selection === undefined || selection === '')
    throw fault('is required: it must be a JSON object, URL-encoded, with all fields, also the site');
  if (typeof selection !== 'string') throw fault('was given more than once');
  const tooLarge = callerJsonFault(selection);
  if (tooLarge !== null) throw fault(tooLarge);
  try {
    return parseJson(selection);
  } catch {
    throw fault('is not valid JSON');
  }
}

function fault(problem: string) {
  return invalidParameters([{ parameter: 'selection', problem }], 'SELECTION_INVALID');
}
