// Saves charts as pictures: <figure class="time-chart"> with <button data-picture>. The picture has what the chart shows.

/** Pixels, at the resolution of the screen. */
const ROOM = 16;
const LINE = 22;
const FONT = 'system-ui, sans-serif';

document.addEventListener('click', (event) => {
  const figure = event.target.closest?.('button[data-picture]')?.closest('figure');
  if (figure) draw(figure).toBlob((blob) => save(blob, nameOf(figure)));
});

function draw(figure) {
  const plot = figure.querySelector('.time-chart-plot canvas');
  const box = figure.querySelector('.time-chart-plot');
  const rows = rowsOf(figure);
  const [width, height] = [
    box.clientWidth + 2 * ROOM,
    box.clientHeight + (rows.length + 3) * LINE + 2 * ROOM,
  ];
  const canvas = document.createElement('canvas');
  const scale = plot.width / box.clientWidth;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  const color = (name) => getComputedStyle(figure).getPropertyValue(name).trim();
  context.fillStyle = color('--surface');
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'middle';
  const text = (content, y, { font = `14px ${FONT}`, fill = '--text', left = ROOM, align = 'left' } = {}) => {
    Object.assign(context, { font, fillStyle: color(fill), textAlign: align });
    context.fillText(content, left, y, width - 2 * ROOM - (align === 'left' ? left - ROOM : 0));
  };
  text(titleOf(figure), ROOM + LINE / 2, { font: `600 17px ${FONT}` });
  text(figure.querySelector('.time-chart-at').textContent, ROOM + 1.5 * LINE, { fill: '--muted' });
  context.drawImage(plot, ROOM, ROOM + 2 * LINE, box.clientWidth, box.clientHeight);
  rows.forEach(({ name, value, stroke, isDashed }, i) => {
    const y = ROOM + (i + 2.5) * LINE + box.clientHeight;
    Object.assign(context, { strokeStyle: stroke, lineWidth: 3 });
    context.setLineDash(isDashed ? [6, 4] : []);
    context.beginPath();
    context.moveTo(ROOM, y);
    context.lineTo(ROOM + 20, y);
    context.stroke();
    text(`${name}  ${value}`, y, { left: ROOM + 28 });
  });
  const footer = `Souk, ${window.location.host}`;
  text(footer, height - ROOM, { font: `12px ${FONT}`, fill: '--muted', left: width - ROOM, align: 'right' });
  return canvas;
}

/** The lines that the chart shows, with their last values. */
function rowsOf(figure) {
  return [...figure.querySelectorAll('.time-chart-series label')]
    .filter((label) => label.querySelector('input').checked)
    .map((label) => {
      const line = label.querySelector('.line');
      const value = label.querySelector('output').textContent;
      const name = label.textContent.replace(/\s+/g, ' ').trim().slice(0, -value.length).trim();
      return {
        name,
        value,
        stroke: getComputedStyle(line).borderTopColor,
        isDashed: line.classList.contains('dashed'),
      };
    });
}

function titleOf(figure) {
  return figure.getAttribute('aria-label');
}

function nameOf(figure) {
  const title = titleOf(figure)
    .replace(/[^\w-]+/g, '-')
    .slice(0, 60);
  return `souk-${title}-${figure.querySelector('.time-chart-at').textContent.slice(0, 10)}.png`;
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
