import type { VNode } from 'preact';
import type { Wallet } from '../../billing/wallets.ts';

const NUMBER = new Intl.NumberFormat('en');

/** 12345 -> 12,345; null is no limit. */
export function count(value: number | null): string {
  return value === null ? 'unlimited' : NUMBER.format(value);
}

/** 1 -> 1 unit, 2 -> 2 units. */
export function counted(value: number, one: string): string {
  return `${count(value)} ${value === 1 ? one : `${one}s`}`;
}

/** An amount of cents in a currency. */
export function money(cents: number, currency: string): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() }).format(
    cents / 100,
  );
}

export const WALLET_NAMES: Record<Wallet, string> = { general: 'General', off_peak: 'Off-peak' };

/** A moment in UTC; scripts add the reader's own time. Absent: a dash. */
export function Time({ at }: { at: Date | string | number | null | undefined }): VNode {
  if (at === null || at === undefined) return <span class="muted">-</span>;
  const iso = new Date(at).toISOString();
  return <time dateTime={iso}>{`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`}</time>;
}
