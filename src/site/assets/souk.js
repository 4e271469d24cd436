// Enhancements of every page. All pages work without scripts.

// Copies the text of another element: <button data-copy="id">.
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('button[data-copy]');
  if (button) void copy(button);
});

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent.trim());
  const label = button.textContent;
  button.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}

// Asks for confirmation before a form is sent: <form data-confirm="Really?">.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
  // The server processes a form that is sent twice once, but only the first answer shows a new key.
  else if (event.target.method === 'post') setTimeout(() => lock(event.target, true));
});

window.addEventListener('pageshow', () => {
  for (const form of document.forms) lock(form, false);
});

function lock(form, isLocked) {
  for (const button of form.querySelectorAll('button[type=submit]')) button.disabled = isLocked;
}

// The keys / and Ctrl-K lead to the search box.
document.addEventListener('keydown', (event) => {
  const box = document.querySelector('[data-search-box]');
  const isTyping = event.target.matches?.('input, textarea, select, [contenteditable]');
  const isCalled =
    event.key.toLowerCase() === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && !isTyping;
  if (!box || !isCalled) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// The server writes times in UTC; a script writes them in the zone and form of the reader, and the title keeps UTC.
const localTime = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
});
const zoneName = localTime.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName').value;

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** The next time at which the clock of a zone shows HH:MM, as that zone is now. */
function nextAt(clock, timeZone) {
  const now = new Date();
  const wall = `${now.toLocaleString('sv', { timeZone }).replace(' ', 'T')}Z`;
  const ahead = new Date(wall) - Math.floor(now / 1000) * 1000;
  return new Date(new Date(`${now.toISOString().slice(0, 10)}T${clock}Z`) - ahead);
}

// Times of day in another zone: <span data-hours="22:00 06:00 Europe/Berlin">.
function addOwnHours(part) {
  const times = part.dataset.hours.split(' ');
  const zone = times.pop();
  const own = times.map((time) => clockTime.format(nextAt(time, zone)));
  if (own.join() !== times.map((time) => clockTime.format(new Date(`2000-01-01T${time}`))).join())
    part.append(`, which is ${own.join(' to ')} ${zoneName}`);
}

function enhance(part) {
  for (const time of part.querySelectorAll('time[datetime]')) {
    if (!time.title && time.dateTime.includes('T')) {
      time.title = time.textContent;
      time.textContent = localTime.format(new Date(time.dateTime));
    }
  }
  for (const span of part.querySelectorAll('[data-hours]')) addOwnHours(span);
  for (const button of part.querySelectorAll('button[data-copy]')) button.hidden = false;
}

enhance(document);

// Times of fields are UTC in the address, and those of the reader's zone in the fields.
for (const field of document.querySelectorAll('input[type="datetime-local"]')) {
  const [label] = field.labels;
  label.textContent = label.textContent.replace('UTC', zoneName);
  // The Swedish form of a time is that of the field, with a space.
  if (field.value) {
    const at = new Date(`${field.value}Z`);
    field.value = at.toLocaleString('sv', { dateStyle: 'short', timeStyle: 'short' }).replace(' ', 'T');
  }
  field.form.addEventListener('formdata', ({ formData }) => {
    if (field.value) formData.set(field.name, new Date(field.value).toISOString());
  });
}

// Refreshes a part of the page every two seconds: <section id="x" data-refresh="2">.
for (const part of document.querySelectorAll('[data-refresh]')) refresh(part);

function refresh(part) {
  const seconds = Number(part.dataset.refresh);
  if (seconds) setTimeout(() => void renew(part), seconds * 1000);
}

async function renew(part) {
  let next = part;
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  // Skips hidden pages and parts in which the reader uses a control; a part that only has the focus keeps it.
  if (!document.hidden && (focused === null || (focused.id && focused.tabIndex < 0))) {
    try {
      const response = await fetch(window.location.href, { headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      next = page.getElementById(part.id) ?? part;
      if (next !== part) part.replaceWith(next);
      enhance(next);
      if (focused) document.getElementById(focused.id)?.focus({ preventScroll: true });
    } catch {
      // Retried at the next refresh.
    }
  }
  refresh(next);
}

// The time zone of the browser in a new form: <input data-browser-zone>.
for (const field of document.querySelectorAll('input[data-browser-zone]')) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const isOffered = [...(field.list?.options ?? [])].some(({ value }) => value === timeZone);
  if (isOffered && field.value === field.defaultValue) field.value = timeZone;
}

// A page that answers a form, or a choice of another view, begins with the focus on the same control, unless it has an answer that
// takes it. This holds for the keyboard; otherwise the page begins at its top.
const LEFT_AT = 'souk-left-at';
const controls = () => [...document.querySelectorAll('main :is(button[type=submit], .segments a)')];
const nameOf = ({ form, textContent }) => `${form?.getAttribute('action')} ${textContent}`;

function leaveAt(control) {
  const all = controls();
  const place = all.indexOf(control);
  if (place < 0 || !document.activeElement.matches(':focus-visible')) return;
  const name = nameOf(control);
  const same = all.filter((one) => nameOf(one) === name).indexOf(control);
  sessionStorage.setItem(LEFT_AT, JSON.stringify({ path: window.location.pathname, place, name, same }));
}

document.addEventListener(
  'submit',
  ({ submitter, defaultPrevented }) => defaultPrevented || leaveAt(submitter),
);
document.addEventListener('click', ({ target }) => leaveAt(target.closest?.('.segments a')));

const left = JSON.parse(sessionStorage.getItem(LEFT_AT));
sessionStorage.removeItem(LEFT_AT);
const hasOtherFocus = window.location.hash !== '' || document.querySelector('[autofocus]') !== null;
// Other scripts may still add to the page.
if (left?.path === window.location.pathname && !hasOtherFocus)
  document.addEventListener('DOMContentLoaded', () => continueAt(left));

function continueAt({ place, name, same }) {
  const all = controls();
  const control = all.filter((one) => nameOf(one) === name)[same] ?? all[place];
  (control ?? document.querySelector('main')).focus();
}
