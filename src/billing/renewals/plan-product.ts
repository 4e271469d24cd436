/** Stripe's product of a plan has an id of ours, so that an invoice says which version of a plan it pays for. */
export function productOfPlan(planId: number): string {
  return `souk-plan-${planId}`;
}

/** @returns null for a product that is not a plan of ours. */
export function planIdOfProduct(productId: string | null): number | null {
  const found = /^souk-plan-([1-9]\d{0,8})$/.exec(productId ?? '');
  return found ? Number(found[1]) : null;
}
