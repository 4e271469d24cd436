import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { type LedgerLine, ledgerLines, packUnitsAfter } from '../../../billing/ledger-lines.ts';
import { type WalletBalances, walletBalances } from '../../../billing/statement.ts';
import { SoukError } from '../../../platform/errors.ts';
import { readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { MorePages } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.ts';
import { Table } from '../../kit/table.tsx';
import { count, Time, WALLET_NAMES } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { ledgerCsv } from './ledger-csv.ts';
import {
  type AskedLedger,
  filterValues,
  KIND_NAMES,
  LedgerFilterForm,
  ledgerFilter,
} from './ledger-filter.tsx';

const PATH = '/account/ledger';

const LINES_A_PAGE = 50;

/** Where every unit came from and went, line by line. */
export function registerLedger(scope: FastifyInstance, { gateway }: Pages): void {
  const { database, clock } = gateway;

  scope.get(PATH, async (request, reply) => {
    const { accountId } = customerOf(request);
    const form = readForm<AskedLedger>(ledgerFilter, request.query);
    const { cursor, ...filter } = form.ok ? form.input : {};
    const [found, balances] = await Promise.all([
      form.ok ? ledgerLines(database, accountId, { limit: LINES_A_PAGE + 1, before: cursor, filter }) : [],
      walletBalances(database, accountId, clock.now()),
    ]);
    const lines = found.slice(0, LINES_A_PAGE);
    const packUnits = await packUnitsAfter(database, accountId, lines);
    const next = found.length > LINES_A_PAGE ? String(lines.at(-1)?.id) : null;
    return sendPage(
      reply,
      <Page title="Ledger" viewer={viewerOf(request, reply)} path={PATH} styles={['account.css']} wide>
        <h1>Ledger</h1>
        <p class="lead">Where every unit came from, and where it went.</p>
        <Balance balances={balances} />
        <LedgerFilterForm values={form.values} faults={form.ok ? {} : form.faults} />
        {lines.length === 0 ? (
          <p class="card empty">{form.ok ? 'There are no such lines.' : 'The filter cannot be.'}</p>
        ) : (
          <LineTable lines={lines} packUnits={packUnits} />
        )}
        <MorePages
          path={PATH}
          query={{ ...filterValues(form.values), cursor: form.values.cursor }}
          next={next}
        />
      </Page>,
      form.ok ? 200 : 400,
    );
  });

  scope.get('/account/ledger.csv', async (request, reply) => {
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
  });
}

/** What the lines add up to. */
function Balance({ balances: { packs, subscriptions } }: { balances: WalletBalances }): VNode {
  const left = packs.reduce((sum, { remainingUnits }) => sum + remainingUnits, 0);
  return (
    <div class="grid">
      <section class="card" aria-labelledby="in-packs">
        <h2 id="in-packs">In packs</h2>
        <p class="figure">{count(left)}</p>
        <p class="hint">
          {left === 1 ? 'unit is' : 'units are'} left. It is what the changes of all lines of packs add up to.
        </p>
      </section>
      <section class="card" aria-labelledby="on-meters">
        <h2 id="on-meters">On subscriptions</h2>
        {subscriptions.length === 0 && <p class="muted">No subscription is running.</p>}
        {subscriptions.map(({ id, wallet, planName, dayUsed, dailyLimit, monthUsed, monthlyLimit }) => (
          <p key={id}>
            <strong>{planName}</strong>, {WALLET_NAMES[wallet].toLowerCase()}: {count(dayUsed)} of{' '}
            {count(dailyLimit)} used today, {count(monthUsed)} of {count(monthlyLimit)} this month
          </p>
        ))}
        <p class="hint">
          A subscription has no balance: its lines count on the meters of a day and a month, which begin anew.
        </p>
      </section>
    </div>
  );
}

const SOURCE_NAMES = { pack: 'Pack', subscription: 'Subscription' } as const;

const COLUMNS = ['#Line', 'When', 'Kind', 'Wallet', 'Of', 'Call', '#Units', '#Change', '#Left in packs'];

function LineTable(props: { lines: readonly LedgerLine[]; packUnits: ReadonlyMap<number, number> }): VNode {
  return (
    <Table name="Lines" columns={COLUMNS}>
      {props.lines.map((line) => (
        <tr key={line.id}>
          <td class="number muted">{line.id}</td>
          <td>
            <Time at={line.at} />
          </td>
          <td>{KIND_NAMES[line.kind]}</td>
          <td>{WALLET_NAMES[line.wallet]}</td>
          <td>
            {SOURCE_NAMES[line.source]} {line.sourceId}
          </td>
          <td>
            {line.callId ? (
              <a href={`/account/jobs/${line.callId}`}>{line.operation ?? 'call'}</a>
            ) : (
              <span class="muted">-</span>
            )}
          </td>
          <td class="number">{count(line.units)}</td>
          <td class="number">{signed(line.change)}</td>
          <td class="number">{count(props.packUnits.get(line.id) ?? 0)}</td>
        </tr>
      ))}
    </Table>
  );
}

function signed(units: number): string {
  if (units === 0) return '0';
  return units > 0 ? `+${count(units)}` : `−${count(-units)}`;
}
