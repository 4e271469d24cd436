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
  const isCalled = event.key === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && !isTyping;
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

function enhance(part) {
  for (const time of part.querySelectorAll('time[datetime]')) {
    if (!time.title && time.dateTime.includes('T')) {
      time.title = time.textContent;
      time.textContent = localTime.format(new Date(time.dateTime));
    }
  }
  for (const button of part.querySelectorAll('button[data-copy]')) button.hidden = false;
}

enhance(document);

// Times of filters are UTC in the address, and those of the reader's zone in the fields.
const zoneName = localTime.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName').value;
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
  // Skips hidden pages and parts that have the keyboard focus.
  if (!document.hidden && !part.contains(document.activeElement)) {
    try {
      const response = await fetch(window.location.href, { headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      next = page.getElementById(part.id) ?? part;
      if (next !== part) part.replaceWith(next);
      enhance(next);
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
