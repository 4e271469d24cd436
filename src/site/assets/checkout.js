// Shows the price of a purchase while its form is filled in. The server computes the price that is charged.
const output = document.querySelector('output[data-price-cents]');
const form = output?.closest('form');

function show() {
  const { priceCents, offPeakShare, currency } = output.dataset;
  const of = (name) => Number(form.elements.namedItem(name)?.value ?? 1) || 1;
  const share = form.elements.namedItem('wallet')?.value === 'off_peak' ? Number(offPeakShare) : 1;
  const cents = Math.round(Number(priceCents) * share) * of('quantity') * of('months');
  output.value = new Intl.NumberFormat('en', { style: 'currency', currency }).format(cents / 100);
}

form?.addEventListener('input', show);
if (form) show();
