// Sliders beside number fields: <input type=range data-for="field" data-from data-to data-scale data-open>. The position at the open
// end means that there is no bound. Without this script only the fields are shown.
const POSITIONS = 100;

const SCALES = {
  linear: {
    value: (part, { from, to }) => from + part * (to - from),
    part: (value, { from, to }) => (value - from) / (to - from),
  },
  log: {
    value: (part, { from, to }) => from * (to / from) ** part,
    part: (value, { from, to }) => Math.log(value / from) / Math.log(to / from),
  },
  // From a negative to the same positive number, fine around 0.
  both: {
    value: (part, { to }) => Math.sign(part - 0.5) * Math.abs(2 * part - 1) ** 3 * to,
    part: (value, { to }) => (Math.sign(value) * Math.cbrt(Math.abs(value) / to) + 1) / 2,
  },
};

/** Two figures are enough for a bound. */
const rounded = (value, scale) => (scale === 'linear' ? Math.round(value) : Number(value.toPrecision(2)));

const number = new Intl.NumberFormat('en');

for (const slider of document.querySelectorAll('input[type=range][data-for]')) {
  const field = document.getElementById(slider.dataset.for);
  const { scale, open } = slider.dataset;
  const ends = { from: Number(slider.dataset.from), to: Number(slider.dataset.to) };
  const openAt = open === 'low' ? 0 : POSITIONS;
  const describe = () => {
    slider.setAttribute(
      'aria-valuetext',
      field.value === '' ? 'no bound' : number.format(Number(field.value)),
    );
  };
  const follow = () => {
    const part = field.value === '' ? openAt / POSITIONS : SCALES[scale].part(Number(field.value), ends);
    slider.value = String(Math.round(Math.min(1, Math.max(0, part)) * POSITIONS));
    describe();
  };
  slider.addEventListener('input', () => {
    const position = Number(slider.value);
    const value = rounded(SCALES[scale].value(position / POSITIONS, ends), scale);
    field.value = position === openAt ? '' : String(value);
    describe();
  });
  field.addEventListener('input', follow);
  follow();
  slider.hidden = false;
}
