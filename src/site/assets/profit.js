// Calculates the profit of a sale while costs are typed, with the formula of the server: <section data-sale="JSON">.
import { saleOf } from './sale.js';

const percent = new Intl.NumberFormat('en', { style: 'unit', unit: 'percent', minimumFractionDigits: 2 });

const WRITTEN = {
  profit: (value, { unit, format }) => new Intl.NumberFormat('en', format).format(value / unit),
  margin: (value) => percent.format(value),
  roi: (value) => percent.format(value),
};

document.addEventListener('input', ({ target }) => {
  const section = target.closest?.('[data-sale]');
  if (!section) return;
  const { unit, format, ...known } = JSON.parse(section.dataset.sale);
  const amount = (name) => {
    const { value, validity } = section.querySelector(`input[name=${name}]`);
    return value === '' || !validity.valid ? null : Math.round(Number(value) * unit);
  };
  const sale = saleOf({ ...known, cost: amount('cost'), otherCosts: amount('otherCosts') ?? 0 });
  for (const [name, write] of Object.entries(WRITTEN)) {
    const value = sale[name];
    section.querySelector(`[data-result=${name}]`).textContent =
      value === null ? '-' : write(value, { unit, format });
  }
});
