// Shows the price of a purchase while its form is filled in. The server computes the price that is charged.
const total = document.querySelector('#total');
const output = total?.querySelector('output');
const form = output?.closest('form');

function show() {
  const { priceCents, offPeakShare, currency, reductions } = output.dataset;
  const of = (name) => Number(form.elements.namedItem(name)?.value ?? 1) || 1;
  const share = form.elements.namedItem('wallet')?.value === 'off_peak' ? Number(offPeakShare) : 1;
  const list = Math.round(Number(priceCents) * share) * of('quantity') * of('months');
  const money = (cents) => new Intl.NumberFormat('en', { style: 'currency', currency }).format(cents / 100);
  // The lowest price; of equal ones that of a discount, which the server lists before coupons.
  let [best, paid] = [-1, list];
  for (const [i, { percent, amountCents }] of JSON.parse(reductions).entries()) {
    const reduced =
      percent === null ? Math.max(0, list - amountCents) : Math.floor((list * (100 - percent)) / 100);
    if (reduced < paid) [best, paid] = [i, reduced];
  }
  output.value = money(paid);
  const listed = total.querySelector('s');
  listed.textContent = money(list);
  listed.hidden = best < 0;
  for (const [i, line] of total.querySelectorAll('[data-reduction]').entries()) line.hidden = i !== best;
  const isCoupon = best >= 0 && JSON.parse(reductions)[best].code !== null;
  for (const line of total.querySelectorAll('[data-unused]')) line.hidden = isCoupon;
}

form?.addEventListener('input', show);
if (form) show();
