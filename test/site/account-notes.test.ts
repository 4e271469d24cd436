import { expect } from 'vitest';
import { eraseDueAccounts, requestErasure } from '../../src/operator/personal-data/erasure.ts';
import { expectPage, signedIn, staffOf } from '../support/customer.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0, operator: { adminToken: 'only-for-the-operator' } });

test('notes on an account are shown to operators with time and author, and never to the customer', async ({
  souk,
}) => {
  const { accountId, visitor: customer, client } = await signedIn(souk);
  const { visitor, email } = await staffOf(souk, 'support');
  const path = `/admin/accounts/${accountId}`;
  await visitor.get(path);
  const added = await visitor.post(`${path}/notes`, { text: ' Pays by\r\ninvoice, <b>call first</b> ' });
  expect(added.text).toContain(`${email} Pays by invoice, <b>call first</b>`);
  expect(added.html).not.toContain('<b>call first');
  expect(added.text).toContain('2026-03-04 10:00 UTC');

  const { rows } = await souk.database.query(
    `select channel, operator, target, before, after from audit_log where action = 'note.added' and account_id = $1`,
    [accountId],
  );
  expect(rows).toMatchObject([{ channel: 'console', target: expect.stringMatching(/^note \d+$/) }]);
  expect(JSON.stringify(rows)).not.toContain('invoice');
  expect((await customer.get('/account/audit')).text).not.toMatch(/note/i);
  expect(JSON.stringify((await client.get('/api/audit')).body)).not.toContain('note.');

  const [, id = ''] = /notes\/(\d+)\/delete/.exec(added.html) ?? [];
  const after = await visitor.post(`${path}/notes/${id}/delete`, {});
  expect(after.text).not.toContain('Pays by invoice');
  expect((await visitor.post(`${path}/notes/${id}/delete`, {})).status).toBe(404);
});

test.for([
  ['', 400, 'must be a text of 1 to 1000 characters'],
  ['x'.repeat(1_001), 400, 'must be a text of 1 to 1000 characters, got 1001 characters'],
  ['a\u202eb'.replace('\u202e', '\ud800'), 400, 'must not contain control characters'],
] as const)('a note of %s gets %i', async ([text, status, fault], { souk }) => {
  const { accountId } = await signedIn(souk);
  const { visitor } = await staffOf(souk);
  await visitor.get(`/admin/accounts/${accountId}`);
  const page = await visitor.post(`/admin/accounts/${accountId}/notes`, { text });
  expect(page.status === status ? page.text : page.status).toContain(fault);
});

test('an account has at most 200 notes, which are deleted with its data', async ({ souk }) => {
  const { accountId } = await signedIn(souk);
  const { visitor } = await staffOf(souk);
  await souk.database.query(
    `insert into account_notes (account_id, at, author, text) select $1, now(), 'person 1', 'note ' || n from generate_series(1, 200) as n`,
    [accountId],
  );
  await visitor.get(`/admin/accounts/${accountId}`);
  const page = await visitor.post(`/admin/accounts/${accountId}/notes`, { text: 'One more' });
  expectPage(page, 409, 'has 200 notes');

  await requestErasure(souk.database, accountId, souk.clock.now());
  await eraseDueAccounts(souk.database, souk.clock.now() + 8 * 86_400_000, (_id, error) => {
    throw error;
  });
  const { rows } = await souk.database.query('select from account_notes where account_id = $1', [accountId]);
  expect(rows).toEqual([]);
});
