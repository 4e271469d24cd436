import { describe, expect, test } from 'vitest';
import { answerIn, completionMessage, completionSchema, withAnswer } from '../../jobs/completion-message.ts';
import type { Answer } from '../../src/results/answer-store.ts';

const message = completionMessage({ callId: 'call', pool: 'market', unitsCharged: 1, error: null }, 7);

function answerOf(bytes: number): Answer {
  const body = Buffer.alloc(bytes, 'é');
  const meta = {
    version: '0123456789abcdef0123',
    contentType: 'application/json',
    encoding: 'identity' as const,
  };
  return { body, meta: { ...meta, size: bytes, fetchedAt: 5, fromCache: false, units: 1, tokens: 1.5 } };
}

describe('a completion message', () => {
  test('holds an answer of up to 2 KiB, byte for byte', () => {
    const sent = completionSchema.parse(JSON.parse(JSON.stringify(withAnswer(message, answerOf(2_048)))));
    expect(sent).toMatchObject(message);
    expect(answerIn(sent)).toEqual(answerOf(2_048));
  });

  test('of a larger answer has none, which its receiver loads', () => {
    expect(withAnswer(message, answerOf(2_049))).toEqual(message);
    expect(answerIn(message)).toBeNull();
  });

  test.each(['', 'AAAA', Buffer.alloc(64, 0xff).toString('base64')])(
    'whose answer cannot be read (%j) has none',
    (answer) => {
      expect(answerIn({ ...message, answer })).toBeNull();
    },
  );
});
