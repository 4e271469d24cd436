import { describe, expect, test } from 'vitest';
import { ERRORS, type ErrorKind, fromRecord, SoukError, toRecord } from '../../src/platform/errors.ts';
import { errorBody } from '../../src/results/envelope.ts';

/** The documented status and code of every kind of error, and whether units were reserved. */
const PROMISED: Record<ErrorKind, [status: number, code: string, units: 'none' | 'released']> = {
  VALIDATION_FAILED: [400, 'VALIDATION_FAILED', 'none'],
  SELECTION_INVALID: [400, '4000', 'none'],
  KEY_INVALID: [401, '4001', 'none'],
  KEY_FORBIDDEN: [403, '4003', 'none'],
  KEY_SCOPE_MISSING: [403, 'KEY_SCOPE_MISSING', 'none'],
  KEY_ADDRESS_REFUSED: [403, 'KEY_ADDRESS_REFUSED', 'none'],
  KEY_RIGHTS_EXCEEDED: [403, 'KEY_RIGHTS_EXCEEDED', 'none'],
  NOT_FOUND: [404, 'NOT_FOUND', 'none'],
  KEY_NOT_FOUND: [404, 'KEY_NOT_FOUND', 'none'],
  JOB_NOT_FOUND: [404, 'JOB_NOT_FOUND', 'none'],
  RESULT_EXPIRED: [410, 'RESULT_EXPIRED', 'none'],
  BATCH_NOT_FOUND: [404, 'BATCH_NOT_FOUND', 'none'],
  SCHEDULE_NOT_FOUND: [404, 'SCHEDULE_NOT_FOUND', 'none'],
  TRACKER_NOT_FOUND: [404, 'TRACKER_NOT_FOUND', 'none'],
  DELIVERY_NOT_FOUND: [404, 'DELIVERY_NOT_FOUND', 'none'],
  FILE_NOT_FOUND: [404, 'FILE_NOT_FOUND', 'none'],
  LINK_NOT_FOUND: [404, 'LINK_NOT_FOUND', 'none'],
  PRODUCT_NOT_FOUND: [404, 'PRODUCT_NOT_FOUND', 'released'],
  WORD_NOT_FOUND: [404, 'WORD_NOT_FOUND', 'released'],
  METHOD_NOT_ALLOWED: [405, 'METHOD_NOT_ALLOWED', 'none'],
  REQUEST_TIMEOUT: [408, 'REQUEST_TIMEOUT', 'none'],
  JOB_SHARED: [409, 'JOB_SHARED', 'none'],
  CANCELLED: [409, 'CANCELLED', 'released'],
  IDEMPOTENCY_CONFLICT: [409, 'IDEMPOTENCY_CONFLICT', 'none'],
  BATCH_STATE: [409, 'BATCH_STATE', 'none'],
  RESULT_NOT_READY: [409, 'RESULT_NOT_READY', 'none'],
  PAYLOAD_TOO_LARGE: [413, 'PAYLOAD_TOO_LARGE', 'none'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'UNSUPPORTED_MEDIA_TYPE', 'none'],
  RANGE_NOT_SATISFIABLE: [416, 'RANGE_NOT_SATISFIABLE', 'none'],
  TOO_MANY_REQUESTS: [429, 'TOO_MANY_REQUESTS', 'none'],
  TOO_MANY_OPEN: [429, 'TOO_MANY_OPEN', 'none'],
  LIMIT_REACHED: [429, 'LIMIT_REACHED', 'none'],
  STORAGE_EXCEEDED: [429, 'STORAGE_EXCEEDED', 'none'],
  QUOTA_NO_SUBSCRIPTION: [429, 'QUOTA_NO_SUBSCRIPTION', 'none'],
  QUOTA_OFF_PEAK_ONLY: [429, 'QUOTA_OFF_PEAK_ONLY', 'none'],
  QUOTA_MINUTE_EXCEEDED: [429, 'QUOTA_MINUTE_EXCEEDED', 'none'],
  QUOTA_DAILY_EXCEEDED: [429, 'QUOTA_DAILY_EXCEEDED', 'none'],
  QUOTA_MONTHLY_EXCEEDED: [429, 'QUOTA_MONTHLY_EXCEEDED', 'none'],
  QUOTA_PACK_EXHAUSTED: [429, 'QUOTA_PACK_EXHAUSTED', 'none'],
  QUOTA_INSUFFICIENT_UNITS: [429, 'QUOTA_INSUFFICIENT_UNITS', 'none'],
  QUOTA_MAX_UNITS: [429, 'QUOTA_MAX_UNITS', 'none'],
  KEY_CAP_REACHED: [429, 'KEY_CAP_REACHED', 'none'],
  TOO_MANY_ATTEMPTS: [429, 'TOO_MANY_ATTEMPTS', 'none'],
  INTERNAL: [500, '5000', 'released'],
  UPSTREAM_ERROR: [502, 'UPSTREAM_ERROR', 'released'],
  BUSY: [503, 'BUSY', 'released'],
  RECOVERING: [503, 'RECOVERING', 'none'],
  DEADLINE_PASSED: [504, 'DEADLINE_PASSED', 'released'],
  UPSTREAM_TIMEOUT: [504, 'UPSTREAM_TIMEOUT', 'released'],
};

test('the list has exactly the documented errors', () => {
  const listed = Object.entries(ERRORS).map(([kind, { status, code, units }]) => [
    kind,
    [status, code, units],
  ]);
  expect(Object.fromEntries(listed)).toEqual(PROMISED);
});

describe.each(Object.keys(ERRORS) as ErrorKind[])('%s', (kind) => {
  test('has a public text that is a sentence', () => {
    expect(ERRORS[kind].text).toMatch(/^[A-Z].*\.$/);
    expect(JSON.parse(errorBody(new SoukError(kind)))).toEqual({
      code: ERRORS[kind].code,
      msg: ERRORS[kind].text,
      data: null,
    });
  });

  test('says when to retry if its status is 503', () => {
    const { retryAfterSeconds = 0 } = fromRecord({ kind, message: 'Refused.' });
    expect(retryAfterSeconds > 0).toBe(ERRORS[kind].status === 503);
  });

  test('keeps its public fields, and no other, from worker to customer', () => {
    const details = { message: 'Said so.', metadata: { errorId: 'e1' }, retryAfterSeconds: 7 };
    const error = new SoukError(kind, { ...details, cause: new Error('password=hunter2') });
    const arrived = fromRecord(JSON.parse(JSON.stringify(toRecord(error))));
    expect(arrived).toMatchObject({ kind, ...details });
    expect(JSON.stringify(toRecord(error)) + errorBody(error)).not.toContain('hunter2');
    expect(JSON.parse(errorBody(arrived))).toEqual({
      code: ERRORS[kind].code,
      msg: 'Said so.',
      data: null,
      metadata: { errorId: 'e1' },
    });
  });
});
