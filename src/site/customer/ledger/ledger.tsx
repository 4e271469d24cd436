import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { ledgerCsv } from '../../../billing/ledger-csv.ts';
import { type LedgerLine, ledgerLines, packUnitsAfter } from '../../../billing/ledger-lines.ts';
import { type WalletBalances, walletBalances } from '../../../billing/statement.ts';
import { SoukError } from '../../../platform/errors.ts';
import { readForm } from '../../kit/form-request.ts';
import { ListPage } from '../../kit/list-page.tsx';
import { pageOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { count, Dash, Time, WALLET_NAMES } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import {
  type AskedLedger,
  filterValues,
  KIND_NAMES,
  LedgerFilterForm,
  ledgerFilter,
} from './ledger-filter.tsx';

const PATH = '/account/ledger';

const LINES_A_PAGE = 50;

/** Registers the account's ledger, as a page and as CSV. */
export function registerLedger(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(PATH, showLedger);
  scope.get('/account/ledger.csv', { config: { occupies: 'downloads' } }, sendCsv);

  async function showLedger(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { accountId } = customerOf(request);
    const form = readForm<AskedLedger>(ledgerFilter, request.query);
    const { cursor, ...filter } = form.ok ? form.input : {};
    const [found, balances] = await Promise.all([
      form.ok ? ledgerLines(database, accountId, { limit: LINES_A_PAGE + 1, before: cursor, filter }) : [],
      walletBalances(database, accountId, clock.now()),
    ]);
    const query = { ...filterValues(form.values), cursor: form.values.cursor };
    const list = pageOf(found, LINES_A_PAGE, query, ({ id }) => id);
    const packUnits = await packUnitsAfter(database, accountId, list.items);
    return sendPage(
      reply,
      <ListPage
        title="Ledger"
        lead="Every movement of units: grants, reservations, charges and releases."
        intro={<Balance balances={balances} />}
        filter={<LedgerFilterForm values={form.values} faults={form.faults} />}
        path={PATH}
        list={list}
      >
        <LineTable
          lines={list.items}
          packUnits={packUnits}
          empty={form.ok ? 'No ledger lines found.' : 'The filter is not valid.'}
        />
      </ListPage>,
      form.ok ? 200 : 400,
    );
  }

  async function sendCsv(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const form = readForm<AskedLedger>(ledgerFilter, request.query);
    if (!form.ok) {
      const problems = Object.entries(form.faults).map(([name, problem]) => `${name} ${problem}`);
      throw new SoukError('VALIDATION_FAILED', { message: `${problems.join('; ')}.` });
    }
    const { cursor: _, ...filter } = form.input;
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    return reply
      .type('text/csv; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-disposition', `attachment; filename="souk-ledger-${day}.csv"`)
      .send(ledgerCsv(database, customerOf(request).accountId, filter));
  }
}

/** The units left in packs, and the use of subscriptions. */
function Balance({ balances: { packs, subscriptions } }: { balances: WalletBalances }): VNode {
  const left = packs.reduce((sum, { remainingUnits }) => sum + remainingUnits, 0);
  return (
    <div class="grid">
      <section class="card" aria-labelledby="in-packs">
        <h2 id="in-packs">In packs</h2>
        <p class="figure">{count(left)}</p>
        <p class="hint">
          {left === 1 ? 'unit' : 'units'} left: the sum of the changes of all lines of packs.
        </p>
      </section>
      <section class="card" aria-labelledby="on-meters">
        <h2 id="on-meters">On subscriptions</h2>
        {subscriptions.length === 0 && <p class="muted">No active subscription.</p>}
        {subscriptions.map(
          ({ id, wallet, planName, dayUsed, dailyLimit, monthUsed, monthlyLimit, monthEnd }) => (
            <p key={id}>
              <strong>{planName}</strong>, {WALLET_NAMES[wallet].toLowerCase()}: {count(dayUsed)} of{' '}
              {count(dailyLimit)} used today, {count(monthUsed)} of {count(monthlyLimit)} this month, which
              resets at <Time at={new Date(monthEnd)} />
            </p>
          ),
        )}
        <p class="hint">
          A subscription has no balance. Its lines count towards a daily and a monthly limit, which reset.
        </p>
      </section>
    </div>
  );
}

const SOURCE_NAMES = { pack: 'Pack', subscription: 'Subscription' } as const;

function LineTable(props: {
  lines: readonly LedgerLine[];
  packUnits: ReadonlyMap<number, number>;
  empty: string;
}): VNode {
  const { lines, packUnits, empty } = props;
  return (
    <Table
      name="Lines"
      stacks
      empty={empty}
      rows={lines}
      columns={[
        ['Line', ({ id }) => id, 'number muted'],
        ['Date', ({ at }) => <Time at={at} />],
        ['Kind', ({ kind }) => KIND_NAMES[kind]],
        ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
        ['Pack or subscription', ({ source, sourceId }) => `${SOURCE_NAMES[source]} ${sourceId}`],
        [
          'Call',
          ({ callId, operation }) =>
            callId ? <a href={`/account/jobs/${callId}`}>{operation ?? 'call'}</a> : <Dash />,
        ],
        ['Units', ({ units }) => count(units), 'number'],
        ['Change', ({ change }) => signed(change), 'number'],
        ['Left in packs', ({ id }) => count(packUnits.get(id) ?? 0), 'number'],
      ]}
    />
  );
}

function signed(units: number): string {
  if (units === 0) return '0';
  return units > 0 ? `+${count(units)}` : `−${count(-units)}`;
}
