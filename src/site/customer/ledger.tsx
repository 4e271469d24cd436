import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type LedgerKind, type LedgerLine, packUnitsAfter } from '../../billing/ledger-lines.ts';
import { type WalletBalances, walletBalances } from '../../billing/statement.ts';
import { QUEUED } from '../../operations/index.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { ERRORS } from '../../platform/errors.ts';
import { ButtonLink, Card } from '../kit/elements.tsx';
import { Choice, Field, FilterForm } from '../kit/form.tsx';
import { type FormState, type FormValues, readValues } from '../kit/form-request.ts';
import { addressOf, ListPage } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, Dash, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { OperationChoice } from './batch-items.tsx';
import { callApi, dataOf, refusedForm, sendDownload } from './customer-api.ts';

const PATH = '/account/ledger';

const LINES_A_PAGE = 50;

/** A line of the ledger as the API shows it. */
type LineView = Omit<LedgerLine, 'id' | 'at'> & { line: number; at: string };

/** The fields of the filter, which have the names of the API's parameters. */
const FILTERS = ['kind', 'wallet', 'operation', 'from', 'to'] as const;

/** Registers the account's ledger, as a page and as a table. */
export function registerLedger(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { accountId } = customerOf(request);
    const balances = await walletBalances(database, accountId, clock.now());
    const values = valuesIn(request);
    const url = addressOf('/api/ledger', { ...values, limit: String(LINES_A_PAGE) });
    const answer = await callApi(request, 'GET', url);
    const isValid = answer.status !== ERRORS.VALIDATION_FAILED.status;
    const { ledger, nextCursor } = isValid
      ? dataOf<{ ledger: LineView[]; nextCursor: string | null }>(answer)
      : { ledger: [], nextCursor: null };
    const faults = isValid
      ? {}
      : refusedForm(answer, (parameter) => FILTERS.find((name) => name === parameter)).faults;
    const packUnits = await packUnitsAfter(
      database,
      accountId,
      ledger.map(({ line }) => line),
    );
    return sendPage(
      reply,
      <ListPage
        title="Ledger"
        lead="Every movement of units: grants, reservations, charges and releases."
        intro={<Balance balances={balances} />}
        filter={<LedgerFilterForm values={values} faults={faults} />}
        path={PATH}
        list={{ query: values, next: nextCursor }}
      >
        <LineTable
          lines={ledger}
          packUnits={packUnits}
          empty={isValid ? 'No ledger lines found.' : 'The filter is not valid. Correct the marked fields.'}
        />
      </ListPage>,
      isValid ? 200 : 400,
    );
  });
  scope.get(`${PATH}.:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`, async (request, reply) => {
    const { format } = request.params as { format: string };
    const url = addressOf('/api/ledger', { ...valuesIn(request), format });
    const name = `souk-ledger-${new Date(clock.now()).toISOString().slice(0, 10)}`;
    return sendDownload(request, reply, { url, name });
  });
}

/** The values of the filter in the address, and the cursor, with which the API refuses an export. */
function valuesIn({ query }: FastifyRequest): FormValues {
  const values = readValues(query);
  return Object.fromEntries([...FILTERS, 'cursor'].map((name) => [name, values[name]]));
}

/** The units left in packs, and the use of subscriptions. */
function Balance({ balances: { packs, subscriptions } }: { balances: WalletBalances }): VNode {
  const left = packs.reduce((sum, { remainingUnits }) => sum + remainingUnits, 0);
  return (
    <div class="grid">
      <Card id="in-packs" title="In packs">
        <p class="figure">{count(left)}</p>
        <p class="hint">
          {left === 1 ? 'unit' : 'units'} left. The column Change of all pack lines adds up to this number.
        </p>
      </Card>
      <Card id="on-meters" title="On plans">
        {subscriptions.length === 0 && <p class="muted">No active plan.</p>}
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
          A plan has no balance. Its lines count towards a daily and a monthly limit, which reset.
        </p>
      </Card>
    </div>
  );
}

const SOURCE_NAMES = { pack: 'Pack', subscription: 'Plan' } as const;

function LineTable(props: {
  lines: readonly LineView[];
  packUnits: ReadonlyMap<number, number>;
  empty: string;
}): VNode {
  const { lines, packUnits, empty } = props;
  return (
    <Table
      name="Lines"
      empty={empty}
      rows={lines}
      columns={[
        ['Line', ({ line }) => line, 'number muted'],
        ['Date', ({ at }) => <Time at={at} />],
        ['Kind', ({ kind }) => KIND_NAMES[kind]],
        ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
        ['Pack or plan', ({ source, sourceId }) => `${SOURCE_NAMES[source]} ${sourceId}`],
        [
          'Call',
          ({ callId, operation }) =>
            callId ? <a href={`/account/jobs/${callId}`}>{operation ?? 'call'}</a> : <Dash />,
        ],
        ['Units', ({ units }) => count(units), 'number'],
        ['Change', ({ change }) => signed(change), 'number'],
        ['Left in packs', ({ line }) => count(packUnits.get(line) ?? 0), 'number'],
      ]}
    />
  );
}

function signed(units: number): string {
  if (units === 0) return '0';
  return units > 0 ? `+${count(units)}` : `−${count(-units)}`;
}

const KIND_NAMES: Record<LedgerKind, string> = {
  grant: 'Grant',
  charge: 'Charge',
  reserve: 'Reservation',
  settle: 'Settlement',
  release: 'Release',
  refund: 'Refund',
  expire: 'Expiry',
  revoke: 'Taken back',
  restore: 'Given back',
};

function LedgerFilterForm({ values, faults }: FormState): VNode {
  const { cursor: _, ...filter } = values;
  const isFiltered = Object.values(filter).some(Boolean);
  const links = (
    <>
      {isFiltered && <ButtonLink to="/account/ledger">All lines</ButtonLink>}
      {TABLE_FORMAT_NAMES.map((format) => (
        <ButtonLink key={format} to={addressOf(`${PATH}.${format}`, filter)} download>
          {format.toUpperCase()}
        </ButtonLink>
      ))}
    </>
  );
  return (
    <FilterForm path="/account/ledger" values={values} faults={faults} links={links}>
      <Choice name="kind" label="Kind" options={[['', 'All'], ...Object.entries(KIND_NAMES)]} />
      <Choice name="wallet" label="Wallet" options={[['', 'Both'], ...Object.entries(WALLET_NAMES)]} />
      <OperationChoice operations={QUEUED} none="All" />
      <Field name="from" label="From (UTC)" type="date" />
      <Field name="to" label="To (UTC)" type="date" />
    </FilterForm>
  );
}
