import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createHotAnswers, HOT_MS, type StoredAnswer } from '../../src/results/cache.ts';

/** The time of the first look-up; 0 would be the time of an entry that does not exist. */
const START_MS = 5_000;

/** A store with one answer that counts how often it is asked, and whose answer and time the test sets. */
function openAnswers(body: Buffer | null = Buffer.from('first')) {
  const stored = { answer: { meta: { version: '1' }, body } as StoredAnswer | null, reads: 0, now: START_MS };
  const answers = createHotAnswers(
    async () => {
      stored.reads += 1;
      const found = stored.answer;
      await turn();
      return found;
    },
    () => stored.now,
  );
  const textOf = async () => (await answers.find('id'))?.body?.toString() ?? null;
  return { stored, answers, textOf, twice: () => Promise.all([textOf(), textOf()]) };
}

test('sends one look-up for requests at the same time, and none for those within a second', async () => {
  const { stored, textOf, twice } = openAnswers();
  expect(await twice()).toEqual(['first', 'first']);
  stored.now = START_MS + HOT_MS - 1;
  expect(await textOf()).toBe('first');
  expect(stored.reads).toBe(1);
});

test('returns the replaced answer for one second at most after its look-up was sent', async () => {
  const { stored, textOf, twice } = openAnswers();
  await twice();
  stored.answer = { ...stored.answer, body: Buffer.from('second') } as StoredAnswer;
  stored.now = START_MS + HOT_MS + 1;
  expect(await textOf()).toBe('second');
});

test('returns nothing a second after the answer was removed from the store', async () => {
  const { stored, textOf, twice } = openAnswers();
  await twice();
  stored.answer = null;
  stored.now = START_MS + HOT_MS + 1;
  expect(await twice()).toEqual([null, null]);
  expect(await textOf()).toBeNull();
});

test('looks up again an answer that was forgotten', async () => {
  const { stored, answers, textOf, twice } = openAnswers();
  await twice();
  stored.answer = null;
  answers.forget('id');
  expect(await textOf()).toBeNull();
});

test('keeps no answer that one request at a time looks up, and no absence', async () => {
  const { stored, textOf, twice } = openAnswers();
  await textOf();
  stored.answer = null;
  expect(await textOf()).toBeNull();
  await twice();
  stored.answer = { meta: { version: '2' }, body: Buffer.from('second') } as StoredAnswer;
  expect(await textOf()).toBe('second');
});

test('keeps no answer whose body is stored separately', async () => {
  const { stored, answers } = openAnswers(null);
  await Promise.all([answers.find('id'), answers.find('id')]);
  await answers.find('id');
  expect(stored.reads).toBe(2);
});

test('passes the error of a look-up to all its requests, and tries again for the next one', async () => {
  let isDown = true;
  const answers = createHotAnswers(async () => {
    await turn();
    if (isDown) throw new Error('down');
    return null;
  });
  const both = await Promise.allSettled([answers.find('id'), answers.find('id')]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isDown = false;
  expect(await answers.find('id')).toBeNull();
});
