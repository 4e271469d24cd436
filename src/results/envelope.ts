import type { Mode } from '../accounts/authentication.ts';
import { ERRORS, type SoukError } from '../platform/errors.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The code of an answer that holds the job of a call instead of its result, because the job has not ended. */
export const ACCEPTED_CODE = 'ACCEPTED';

/**
 * Marks the JSON of an envelope of a test account. Envelopes of live accounts do not change.
 * @param json with `code` as its first field; the rest may be absent.
 */
export function inMode(mode: Mode, json: string): string {
  return mode === 'test' ? `{"livemode":false,${json.slice(1)}` : json;
}

/** Returns the body of a successful answer. */
export function okBody(data: unknown, message = 'success', code = '0000'): string {
  return JSON.stringify({ code, msg: message, data });
}

/** Returns the body of a successful answer whose data is JSON already. @param metadata JSON, too; absent if it is null. */
export function okText(data: string, metadata: string | null = null): string {
  const last = metadata === null ? '' : `,"metadata":${metadata}`;
  return `{"code":"0000","msg":"success","data":${data}${last}}`;
}

export function errorBody({ kind, message, metadata }: SoukError): string {
  return JSON.stringify({ code: ERRORS[kind].code, msg: message, data: null, metadata });
}
