import { ERRORS, type SoukError } from '../platform/errors.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns the body of a successful answer. */
export function okBody(data: unknown, message = 'success'): string {
  return JSON.stringify({ code: '0000', msg: message, data });
}

/** Returns the body of an error. */
export function errorBody({ kind, message, metadata }: SoukError): string {
  return JSON.stringify({ code: ERRORS[kind].code, msg: message, data: null, metadata });
}
