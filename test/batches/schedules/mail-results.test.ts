import type { Email } from 'postal-mime';
import { describe, expect } from 'vitest';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { setTopicsOff } from '../../../src/outbox/mail/choices.ts';
import { holdProducts, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { ownerOf } from '../../support/customer.ts';
import type { MailServer } from '../../support/mail-server.ts';
import { comesAbout, createSchedule, productsHourly, runThrough } from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';

const PUBLIC_URL = 'https://souk.example';
const WEEK_MS = 604_800_000;

base.override('soukOptions', ({ mailServer, demo }) => ({
  testUrl: demo.url,
  mail: { from: 'souk@souk.example', publicUrl: PUBLIC_URL, transport: { smtpUrl: mailServer.url } },
}));

/** `run`: an account whose owner has a confirmed address, and what runs a schedule of it. */
const test = base.extend('runs', async ({ souk, account: { accountId }, client, mailServer, upstream }) => {
  mailServer.reset();
  upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '')
        .split(',')
        .map((asin) => ({ asin, domainId: 1, productType: 0, csv: [] })),
    },
  }));
  const personId = await ownerOf(souk.database, accountId);
  await souk.database.query('update people set email_confirmed_at = $2 where id = $1', [
    personId,
    new Date(0),
  ]);
  return {
    personId,
    /** Runs a schedule. @returns its batch. */
    async run(fields: Record<string, unknown>, as: Client = client) {
      const asins = [newAsin(), newAsin()];
      const schedule = await createSchedule(as, productsHourly(asins, { paused: true, ...fields }));
      return { schedule, batch: await runThrough(souk, as, schedule) };
    },
  };
});

/** Waits until the mails of results that are queued have ended. @returns their last states. */
async function statesOf(souk: Souk, accountId: number): Promise<string[]> {
  const states = async () =>
    (
      await souk.database.query<{ state: string }>(
        `select state from outbox where account_id = $1 and kind = 'schedule_results' order by id`,
        [accountId],
      )
    ).rows.map(({ state }) => state);
  await comesAbout(souk, async () => !(await states()).includes('pending'));
  return states();
}

/** The mails about results that the server has taken. Others are about new keys. */
function resultMails({ taken }: MailServer): Email[] {
  return taken.filter(({ subject }) => subject?.startsWith('Results: '));
}

function pathIn(mail: Email | undefined): string {
  const [, path = ''] = new RegExp(`${PUBLIC_URL}(/files/\\S+)`).exec(mail?.text ?? '') ?? [];
  return path;
}

const download = (souk: Souk, path: string) => souk.clientOf('').get(path);

describe('a run of a schedule with mailResults', () => {
  test('sends a mail with counts and a link that opens the results without a key', async ({
    souk,
    account: { accountId },
    client,
    runs,
    mailServer,
  }) => {
    const { schedule, batch } = await runs.run({ mailResults: true, onlyChanges: true });
    expect(await statesOf(souk, accountId)).toEqual(['sent']);
    const [mail] = resultMails(mailServer);
    expect(mail?.subject).toBe('Results: Every hour');
    expect(mail?.text).toContain('Done: 2\nFailed: 0\nChanged: 2\nUnchanged: 0');
    expect(mail?.text).toContain(`${PUBLIC_URL}/account/${accountId}/batches/${batch.batchId}`);
    const path = pathIn(mail);
    expect(path).toMatch(/^\/files\/[\w-]{43}\/souk-batch-[\w-]+\.csv$/);
    const results = await download(souk, path);
    expect(results.status).toBe(200);
    expect(results.text.trim().split('\n')).toHaveLength(3);
    const { links } = (await client.get(`/api/links?id=${batch.batchId}`)).json.data;
    expect(links).toMatchObject([{ target: 'batch', format: 'csv', opens: 1 }]);
    expect(links[0].expiresAt).toBe(batch.resultsUntil);

    await runThrough(souk, client, schedule);
    expect(await statesOf(souk, accountId)).toEqual(['sent', 'sent']);
    const [, second] = resultMails(mailServer);
    expect(second?.text).toContain('Done: 2\nFailed: 0\nChanged: 0\nUnchanged: 2');
  });

  test('keeps neither the token nor the address of the link in the queue', async ({
    souk,
    account: { accountId },
    runs,
    mailServer,
  }) => {
    await runs.run({ mailResults: true });
    expect(await statesOf(souk, accountId)).toEqual(['sent']);
    const [mail] = resultMails(mailServer);
    const [, , token = ''] = pathIn(mail).split('/');
    expect(token).toHaveLength(43);
    expect(mail?.text).not.toContain('Unchanged');
    const { rows } = await souk.database.query<{ row: string }>(
      `select to_json(o)::text as row from outbox o where account_id = $1 and kind = 'schedule_results'`,
      [accountId],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(token);
    expect(rows[0]?.row).not.toContain('/files/');
  });

  test('has a link that ends with the results and with the key of the run', async ({
    souk,
    account: { accountId },
    client,
    runs,
    mailServer,
  }) => {
    const { batch } = await runs.run({ mailResults: true });
    await statesOf(souk, accountId);
    const path = pathIn(resultMails(mailServer)[0]);
    const { rows } = await souk.database.query(
      'select l.key_id = b.key_id as same from result_links l join batches b on b.id = l.target_id where b.id = $1',
      [batch.batchId],
    );
    expect(rows).toEqual([{ same: true }]);
    souk.clock.advance(WEEK_MS - 3_600_000);
    expect((await download(souk, path)).status).toBe(200);
    await souk.database.query('update api_keys set revoked_at = $2 where account_id = $1', [
      accountId,
      new Date(souk.clock.now()),
    ]);
    expect((await download(souk, path)).status).toBe(404);
    await souk.database.query('update api_keys set revoked_at = null where account_id = $1', [accountId]);
    expect((await client.get(path)).status).toBe(200);
    souk.clock.advance(2 * 3_600_000);
    expect((await download(souk, path)).status).toBe(404);
  });

  test('sends nothing without mailResults, and none to a member who has switched them off', async ({
    souk,
    account: { accountId },
    runs,
    mailServer,
  }) => {
    await runs.run({});
    expect(await statesOf(souk, accountId)).toEqual([]);
    await setTopicsOff(souk.database, { accountId, personId: runs.personId }, ['results']);
    await runs.run({ mailResults: true });
    expect(await statesOf(souk, accountId)).toEqual(['not_sent']);
    expect(resultMails(mailServer)).toEqual([]);
    const { rowCount } = await souk.database.query('select from result_links where account_id = $1', [
      accountId,
    ]);
    expect(rowCount).toBe(0);
  });

  test('has no link while the account has 150 links', async ({
    souk,
    account: { accountId },
    runs,
    mailServer,
  }) => {
    await souk.database.query(
      `insert into result_links (id, account_id, token_hash, target, target_id, operation, name, created_at, expires_at)
       select gen_random_uuid(), $1, sha256(i::text::bytea), 'job', gen_random_uuid(), 'market.product', 'x', $2, $3
       from generate_series(1, 150) as i`,
      [accountId, new Date(souk.clock.now()), new Date(souk.clock.now() + WEEK_MS)],
    );
    await runs.run({ mailResults: true });
    expect(await statesOf(souk, accountId)).toEqual(['sent']);
    const [mail] = resultMails(mailServer);
    expect(pathIn(mail)).toBe('');
    expect(mail?.text).toContain('the account has the most links that are allowed');
  });

  test.for([
    ['has a link that works after its key was reset', 'expires_at = $2, rotated_at = $2', 200],
    ['has a link that works after its key without limits was revoked', 'revoked_at = $2', 200],
    ['has no link after its key with a cap was revoked', 'revoked_at = $2, cap_day = 100', null],
  ] as const)(
    '%s',
    async ([, end, status], { souk, account: { accountId }, client, runs: _, upstream, mailServer }) => {
      const release = holdProducts(upstream);
      const schedule = await createSchedule(
        client,
        productsHourly([newAsin()], { paused: true, mailResults: true }),
      );
      await client.post(`/api/schedules/${schedule.scheduleId}/run`, {});
      await upstream.received(1);
      const now = new Date(souk.clock.now());
      await souk.database.query(`update api_keys set ${end} where account_id = $1`, [accountId, now]);
      release();
      await comesAbout(souk, async () => resultMails(mailServer).length > 0);
      const [mail] = resultMails(mailServer);
      const path = pathIn(mail);
      expect(path === '' ? null : (await download(souk, path)).status).toBe(status);
      expect(mail?.text?.includes('or the API key of the run has ended')).toBe(status === null);
    },
  );

  test('of a test key goes to the members of the live account, with a link to the test data', async ({
    souk,
    account: { accountId },
    runs,
    mailServer,
  }) => {
    const tester = souk.clientOf(await createTestKey(souk.database, accountId, souk.clock.now()));
    const { batch } = await runs.run({ mailResults: true }, tester);
    expect(await statesOf(souk, accountId)).toEqual(['sent']);
    const [mail] = resultMails(mailServer);
    expect(mail?.subject).toBe('Results: Every hour (test data)');
    expect(mail?.text).toContain(`/account/test-${accountId}/batches/${batch.batchId}`);
    expect((await download(souk, pathIn(mail))).status).toBe(200);
  });
});
