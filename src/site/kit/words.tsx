import type { VNode } from 'preact';
import type { OffPeakWindow, Wallet } from '../../billing/wallets.ts';

const NUMBER = new Intl.NumberFormat('en');

/** 12345 -> 12,345; null -> unlimited. */
export function count(value: number | null): string {
  return value === null ? 'unlimited' : NUMBER.format(value);
}

/** 1 -> 1 unit, 2 -> 2 units. */
export function counted(value: number, one: string): string {
  return `${count(value)} ${value === 1 ? one : `${one}s`}`;
}

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SMALL = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Tokens and ratios: one digit after the point below 100. */
export function amount(value: number): string {
  return (Math.abs(value) < 100 ? SMALL : WHOLE).format(value);
}

/** Formats a share as a percentage. */
export function share(part: number, whole: number): string {
  return whole > 0 ? `${SMALL.format((100 * part) / whole)} %` : '0 %';
}

/** Formats an amount of cents in a currency. */
export function money(cents: number, currency: string): string {
  return formatterOf({ style: 'currency', currency: currency.toUpperCase() }).format(cents / 100);
}

/** Making a formatter takes far longer than using it. There are as many as currencies and kinds of values. */
const formatters = new Map<string, Intl.NumberFormat>();

/** Returns a formatter of numbers, the same for equal options. */
export function formatterOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const formatter = formatters.get(key) ?? new Intl.NumberFormat('en', options);
  formatters.set(key, formatter);
  return formatter;
}

/** A daily window: from 22:00 to 06:00 (Europe/Berlin). A script adds the hours in the zone of the reader. */
export function Hours({ start, end, timezone }: OffPeakWindow): VNode {
  return (
    <span data-hours={`${start} ${end} ${timezone}`}>
      from {start} to {end} ({timezone})
    </span>
  );
}

/** When a day begins for limits. */
export function Midnight(): VNode {
  return <span data-hours="00:00 UTC">00:00 UTC</span>;
}

export const WALLET_NAMES: Record<Wallet, string> = { general: 'General', off_peak: 'Off-peak' };

/** A time in UTC; scripts add the local time. Absent: a dash. */
export function Time({ at }: { at: Date | string | number | null | undefined }): VNode {
  if (at === null || at === undefined) return <span class="muted">-</span>;
  const iso = new Date(at).toISOString();
  return <time dateTime={iso}>{`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`}</time>;
}

/** Stands for an absent value. */
export function Dash(): VNode {
  return <span class="muted">-</span>;
}

/** The end of a long id, which distinguishes it from other ids of the same time. */
export function ShortId({ id }: { id: string }): VNode {
  return <code class="id">{id.slice(-12)}</code>;
}

/** A link to what has a long id, by its end. */
export function IdLink({ to, id }: { to: string; id: string }): VNode {
  return (
    <a href={to}>
      <ShortId id={id} />
    </a>
  );
}
