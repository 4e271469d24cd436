import type { VNode } from 'preact';
import { z } from 'zod';
import { LEDGER_KINDS, type LedgerFilter, type LedgerKind } from '../../../billing/ledger-lines.ts';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, Field, type FormFaults, type FormValues } from '../../kit/form.tsx';
import { addressOf, optional } from '../../kit/paging.tsx';
import { WALLET_NAMES } from '../../kit/words.tsx';
import { OperationChoice } from '../operation-choice.tsx';

export const KIND_NAMES: Record<LedgerKind, string> = {
  grant: 'Grant',
  charge: 'Charge',
  reserve: 'Reservation',
  settle: 'Settlement',
  release: 'Refund',
  expire: 'Expiry',
};

const DAY_MS = 86_400_000;

const day = optional(z.iso.date('must be a day such as 2026-05-01').transform((text) => Date.parse(text)));

const kindNames = LEDGER_KINDS.join(', ');

/** The filter as the address has it; days are whole, and the last one counts. */
export const ledgerFilter = z
  .object({
    kind: optional(z.enum(LEDGER_KINDS, `must be one of ${kindNames}`)),
    wallet: optional(z.enum(['general', 'off_peak'], 'must be general or off_peak')),
    operation: optional(
      z.enum(
        QUEUED.map(({ name }) => name),
        'is no operation that costs units',
      ),
    ),
    from: day,
    to: day,
    cursor: optional(
      z
        .string()
        .regex(/^\d{1,15}$/, 'is not the number of a line')
        .transform(Number),
    ),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ['to'],
    message: 'must not be before the first day',
  })
  .transform(({ to, ...filter }) => ({ ...filter, to: to === undefined ? undefined : to + DAY_MS }));

export type AskedLedger = LedgerFilter & { cursor?: number | undefined };

/** What of an address narrows the ledger down. */
export function filterValues({ kind, wallet, operation, from, to }: FormValues): FormValues {
  return { kind, wallet, operation, from, to };
}

export function LedgerFilterForm({ values, faults }: { values: FormValues; faults: FormFaults }): VNode {
  const isNarrowed = Object.values(filterValues(values)).some(Boolean);
  return (
    <form class="filters" method="get" action="/account/ledger">
      <Choice
        name="kind"
        label="Kind"
        value={values.kind}
        fault={faults.kind}
        options={[['', 'All'], ...Object.entries(KIND_NAMES)]}
      />
      <Choice
        name="wallet"
        label="Wallet"
        value={values.wallet}
        fault={faults.wallet}
        options={[['', 'Both'], ...Object.entries(WALLET_NAMES)]}
      />
      <OperationChoice operations={QUEUED} value={values.operation} none="All" fault={faults.operation} />
      <Field name="from" label="From day" type="date" value={values.from} fault={faults.from} />
      <Field name="to" label="To day" type="date" value={values.to} fault={faults.to} />
      <button type="submit">Filter</button>
      {isNarrowed && (
        <a class="button" href="/account/ledger">
          All lines
        </a>
      )}
      <a class="button push" href={addressOf('/account/ledger.csv', filterValues(values))}>
        Export CSV
      </a>
    </form>
  );
}
