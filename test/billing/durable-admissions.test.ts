import { expect } from 'vitest';
import { balancesFromLedger, keptBalances } from '../support/balances.ts';
import { openBilling } from '../support/billing.ts';
import { openCrashingPostgres } from '../support/own-servers.ts';
import { test as base } from '../support/souk-test.ts';

const test = base.extend('postgres', async ({ demoSettings: _ }, { onCleanup }) => {
  // So long that the server writes its log only when a commit waits for it.
  const postgres = await openCrashingPostgres({ wal_writer_delay: '10s' });
  onCleanup(() => postgres.close());
  return postgres;
});

test('a crash of PostgreSQL loses no call that was admitted', async ({ postgres }) => {
  const billing = await openBilling({ url: postgres.url });
  const { clock, database } = billing;
  const member = await billing.account({ subscriptions: [{}] });
  const { accountId } = member;
  const admitted: string[] = [];
  for (const details of [{}, { answer: 'own' }, { background: true }]) {
    admitted.push((await billing.admit(member, 1, details)).callId);
    await postgres.crash();
    const { rows } = await database.query<{ id: string }>('select id from calls where account_id = $1', [
      accountId,
    ]);
    expect(rows.map(({ id }) => id).sort()).toEqual(admitted.toSorted());
  }
  expect(await keptBalances(database, accountId, clock.now())).toEqual(
    await balancesFromLedger(database, accountId, clock.now()),
  );
  await billing.close();
});
