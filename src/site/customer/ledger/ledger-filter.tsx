import type { VNode } from 'preact';
import { z } from 'zod';
import { LEDGER_KINDS, type LedgerFilter, type LedgerKind } from '../../../billing/ledger-lines.ts';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, Field, FilterForm } from '../../kit/form.tsx';
import type { FormState, FormValues } from '../../kit/form-request.ts';
import { addressOf, optional } from '../../kit/paging.tsx';
import { WALLET_NAMES } from '../../kit/words.tsx';
import { OperationChoice } from '../operation-choice.tsx';

export const KIND_NAMES: Record<LedgerKind, string> = {
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

const DAY_MS = 86_400_000;

const day = optional(z.iso.date('must be a date such as 2026-05-01').transform((text) => Date.parse(text)));

const kindNames = LEDGER_KINDS.join(', ');

/** The filter in the query of the address. Both days are included. */
export const ledgerFilter = z
  .object({
    kind: optional(z.enum(LEDGER_KINDS, `must be one of ${kindNames}`)),
    wallet: optional(z.enum(['general', 'off_peak'], 'must be general or off_peak')),
    operation: optional(
      z.enum(
        QUEUED.map(({ name }) => name),
        'must be an operation that costs units',
      ),
    ),
    from: day,
    to: day,
    cursor: optional(
      z
        .string()
        .regex(/^\d{1,15}$/, 'must be the number of a ledger line')
        .transform(Number),
    ),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ['to'],
    message: 'must not be before the first day',
  })
  .transform(({ to, ...filter }) => ({ ...filter, to: to === undefined ? undefined : to + DAY_MS }));

export type AskedLedger = LedgerFilter & { cursor?: number | undefined };

/** The values of the filter, without the cursor. */
export function filterValues({ kind, wallet, operation, from, to }: FormValues): FormValues {
  return { kind, wallet, operation, from, to };
}

export function LedgerFilterForm({ values, faults }: FormState): VNode {
  const isFiltered = Object.values(filterValues(values)).some(Boolean);
  const links = (
    <>
      {isFiltered && (
        <a class="button" href="/account/ledger">
          All lines
        </a>
      )}
      <a class="button push" href={addressOf('/account/ledger.csv', filterValues(values))}>
        Export CSV
      </a>
    </>
  );
  return (
    <FilterForm path="/account/ledger" values={values} faults={faults} links={links}>
      <Choice name="kind" label="Kind" options={[['', 'All'], ...Object.entries(KIND_NAMES)]} />
      <Choice name="wallet" label="Wallet" options={[['', 'Both'], ...Object.entries(WALLET_NAMES)]} />
      <OperationChoice operations={QUEUED} none="All" />
      <Field name="from" label="From" type="date" />
      <Field name="to" label="To" type="date" />
    </FilterForm>
  );
}
