import { isRecord } from '../params/request.ts';
import type { Product } from '../products/product.ts';
import { saleOf } from './sale.js';
import { shownIn } from './series.ts';

/** The fees that the provider names for a product; null is unknown. */
interface Fees {
  referral: number | null;
  closing: number | null;
  fba: number | null;
}

/**
 * Returns the fees of a sale and what it leaves, in the currency of the site.
 * @param sale.price in the smallest unit of the currency, `sale.unit` of which make one of it.
 * @param sale.cost what the product costs the seller, in the currency; null if it is unknown.
 */
export function profitOf(
  product: Product | undefined,
  sale: { price: number | null; unit: number; cost: number | null; otherCosts: number },
) {
  const { price, unit } = sale;
  const fees = feesOf(product, price);
  const cost = sale.cost === null ? null : Math.round(sale.cost * unit);
  const otherCosts = Math.round(sale.otherCosts * unit);
  const shown = (value: number | null) => shownIn(unit, value);
  const shownFees = { referral: shown(fees.referral), closing: shown(fees.closing), fba: shown(fees.fba) };
  const hasFee = Object.values(fees).some((fee) => fee !== null);
  const { profit, ...percentages } = saleOf({ price, ...fees, cost, otherCosts });
  return {
    fees: { ...shownFees, source: hasFee ? ('products' as const) : null },
    profit: {
      price: shown(price),
      ...shownFees,
      cost: shown(cost),
      otherCosts: otherCosts / unit,
      profit: shown(profit),
      ...percentages,
    },
  };
}

/** In the smallest unit of the currency. */
function feesOf(product: Product | undefined, price: number | null): Fees {
  const { referralFeePercentage, referralFeePercent, variableClosingFee, fbaFees }: Record<string, unknown> =
    product ?? {};
  const percentage = amountOf(referralFeePercentage) ?? amountOf(referralFeePercent);
  return {
    referral: price === null || percentage === null ? null : Math.round((price * percentage) / 100),
    closing: amountOf(variableClosingFee),
    fba: amountOf(isRecord(fbaFees) ? fbaFees.pickAndPackFee : null),
  };
}

/** Negative numbers mean that the provider has no data. */
function amountOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
