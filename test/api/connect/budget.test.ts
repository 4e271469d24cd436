import { Pool } from 'undici';
import { expect } from 'vitest';
import { signedIn } from '../../support/customer.ts';
import { registerProgram } from '../../support/oauth-program.ts';
import { test } from '../../support/souk-test.ts';

const CAP = 100;
const CALLS = 1_000;

test('1,000 calls at the same time on a connection with a cap of 100 units spend exactly 100', async ({
  souk,
}) => {
  const { baseUrl } = souk.clientOf('');
  const { visitor, accountId } = await signedIn(souk);
  const program = await registerProgram(baseUrl);
  const caps = { capDay: String(CAP), capMonth: String(CAP) };
  const tokens = await program.connect(visitor, { account: String(accountId), ...caps });
  const pool = new Pool(baseUrl, { connections: 100 });
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const call = async (number: number): Promise<string> => {
    const asin = `B${String(number).padStart(9, '0')}`;
    const path = `/api/market/product?domain=1&asins=${asin}&detailLevel=summary`;
    const { statusCode, body } = await pool.request({ path, method: 'GET', headers });
    const { code } = (await body.json()) as { code: string };
    return `${statusCode} ${code}`;
  };
  const outcomes = await Promise.all(Array.from({ length: CALLS }, (_, number) => call(number)));
  await pool.close();
  const counts = Object.groupBy(outcomes, (outcome) => outcome);
  expect(Object.fromEntries(Object.entries(counts).map(([outcome, all]) => [outcome, all?.length]))).toEqual({
    '200 0000': CAP,
    '429 KEY_CAP_REACHED': CALLS - CAP,
  });
  const { rows } = await souk.database.query<{ charged: number; counted: number }>(
    `select (select sum(c.units_charged)::integer from finished_calls c where c.account_id = $1 and c.key_id = k.id) as charged,
       (select units::integer from key_periods p where p.key_id = k.id and p.period = 'day') as counted
     from connections n join api_keys k on k.id = n.key_id where k.account_id = $1`,
    [accountId],
  );
  expect(rows).toEqual([{ charged: CAP, counted: CAP }]);
});
