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

/** The part of an address that narrows the ledger down. */
export function filterValues({ kind, wallet, operation, from, to }: FormValues): FormValues {
  return { kind, wallet, operation, from, to };
}

export function LedgerFilterForm({ values, faults }: FormState): VNode {
  const isNarrowed = Object.values(filterValues(values)).some(Boolean);
  const links = (
    <>
      {isNarrowed && (
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
      <Field name="from" label="From day" type="date" />
      <Field name="to" label="To day" type="date" />
    </FilterForm>
  );
}
