import { ERRORS, type SoukError } from '../platform/errors.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The code of an answer that holds the job of a call instead of its result, because the job has not ended. */
export const ACCEPTED_CODE = 'ACCEPTED';

/** Returns the body of a successful answer. */
export function okBody(data: unknown, message = 'success', code = '0000'): string {
  return JSON.stringify({ code, msg: message, data });
}

/** Returns the body of an error. */
export function errorBody({ kind, message, metadata }: SoukError): string {
  return JSON.stringify({ code: ERRORS[kind].code, msg: message, data: null, metadata });
}
