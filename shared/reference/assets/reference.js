// The API reference's search, copy buttons and choice between light and dark. The page is complete without them.

const MODE = 'reference-mode';

// At once, so that the page does not appear in the other colours first.
setMode(remembered());

document.addEventListener('DOMContentLoaded', () => {
  chooseMode(document.querySelector('#dark'));
  unfoldContents(document.querySelector('nav details'));
  document.querySelectorAll('.curl').forEach(addCopyButton);
  const index = nameFields();
  search(document.querySelector('search'), index);
  window.addEventListener('hashchange', reveal);
  reveal();
});

// ==== Light and dark

function remembered() {
  try {
    return localStorage.getItem(MODE);
  } catch {
    return null; // the browser keeps nothing for this page
  }
}

/** `light`, `dark`, or null for what the system prefers. */
function setMode(mode) {
  if (mode) document.documentElement.dataset.mode = mode;
}

function chooseMode(button) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (document.documentElement.dataset.mode ?? (system.matches ? 'dark' : 'light')) === 'dark';
  const show = () => button.setAttribute('aria-pressed', String(isDark()));
  button.addEventListener('click', () => {
    const mode = isDark() ? 'light' : 'dark';
    setMode(mode);
    try {
      localStorage.setItem(MODE, mode);
    } catch {
      // The choice holds for this visit.
    }
    show();
  });
  system.addEventListener('change', show);
  show();
  button.hidden = false;
}

// ==== Contents

/** Unfolded where they have a column of their own (reference.css), and folded on a phone. */
function unfoldContents(contents) {
  const isWide = matchMedia('(min-width: 52.01rem)');
  const unfold = () => (contents.open = isWide.matches);
  isWide.addEventListener('change', unfold);
  unfold();
}

// ==== Copy

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  const title = block.closest('article').querySelector('h3').textContent;
  button.setAttribute('aria-label', `Copy the request: ${title}`);
  const said = document.createElement('span');
  said.setAttribute('role', 'status');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      said.textContent = 'Copied';
    } catch {
      said.textContent = 'The browser does not allow it';
    }
    setTimeout(() => (said.textContent = ''), 3000);
  });
  block.querySelector('h4').after(button, said);
}

// ==== Search

/**
 * Gives each field an anchor, and returns everything that can be found:
 * {names, about, where, kind, target}. The first name is shown.
 */
function nameFields() {
  const found = [];
  for (const article of document.querySelectorAll('article')) {
    const title = article.querySelector('h3').textContent;
    const route = article.querySelector('.route')?.textContent ?? '';
    const path = article.querySelector('.path')?.textContent ?? '';
    const kind = !route ? 'Schema' : article.querySelector('.event') ? 'Event' : 'Operation';
    const about = article.querySelector(':scope > p:not(.route)')?.textContent ?? '';
    found.push({ names: [title, article.id, path], about, where: route, kind, target: article });
    const names = new Set();
    for (const field of article.querySelectorAll('.fields > div')) {
      const name = field.querySelector('dt > code').textContent;
      const outer = field.parentElement.closest('.fields > div');
      const whole = `${outer ? outer.id : article.id}.${name}`;
      // A second field of this name, for instance of a response, has a number.
      let id = whole;
      for (let number = 2; names.has(id); number += 1) id = `${whole}-${number}`;
      names.add(id);
      field.id = id;
      const text = field.querySelector(':scope > dd > p')?.textContent ?? '';
      found.push({ names: [name], about: text, where: route ? `${title}: ${route}` : title, kind: 'Field', target: field });
    }
  }
  for (const row of document.querySelectorAll('#errors tbody tr')) {
    const [status, code, meaning] = [...row.cells].map((cell) => cell.textContent);
    found.push({ names: [code], about: '', where: `${status} ${meaning}`, kind: 'Error', target: row });
  }
  return found;
}

const MOST = 30;
const KINDS = ['Operation', 'Event', 'Error', 'Schema', 'Field'];

/** What has all words of the text, the best match first. */
function matches(index, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const ranked = [];
  for (const entry of index) {
    const all = [...entry.names, entry.about, entry.where].join(' ').toLowerCase();
    if (!words.every((word) => all.includes(word))) continue;
    const rank = Math.min(...entry.names.map((name) => distance(name.toLowerCase(), words)));
    ranked.push({ entry, rank: rank * KINDS.length + (rank === 0 ? 0 : KINDS.indexOf(entry.kind)) });
  }
  return ranked.sort((one, other) => one.rank - other.rank).map(({ entry }) => entry);
}

/** How far a name is from these words: 0 is the same, 1 has them, 2 does not. */
function distance(name, words) {
  if (name === words.join(' ')) return 0;
  return words.every((word) => name.includes(word)) ? 1 : 2;
}

function search(box, index) {
  const [input, list, count] = ['input', '#found', '#count'].map((part) => box.querySelector(part));
  let shown = [];
  let chosen = -1;

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    chosen = -1;
  };
  const choose = (at) => {
    chosen = at;
    [...list.children].forEach((option, number) => option.setAttribute('aria-selected', String(number === at)));
    input.setAttribute('aria-activedescendant', list.children[at].id);
    list.children[at].scrollIntoView({ block: 'nearest' });
  };
  const go = (at) => {
    const { target } = shown[at];
    close();
    count.textContent = '';
    if (decodeURIComponent(location.hash) === `#${target.id}`) reveal();
    else location.hash = target.id;
  };
  const look = () => {
    const all = matches(index, input.value);
    shown = all.slice(0, MOST);
    list.replaceChildren(...shown.map((entry, at) => option(entry, at, go)));
    close();
    const number = shown.length < all.length ? `${shown.length} of ${all.length}` : all.length;
    count.textContent = input.value.trim() ? `${number} ${all.length === 1 ? 'result' : 'results'}` : '';
    list.hidden = shown.length === 0;
    input.setAttribute('aria-expanded', String(shown.length > 0));
  };

  input.addEventListener('input', look);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      close();
      count.textContent = '';
    } else if (shown.length > 0 && ['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) {
      event.preventDefault();
      if (list.hidden) look();
      else if (event.key === 'Enter') go(Math.max(chosen, 0));
      else if (event.key === 'ArrowDown') choose((chosen + 1) % shown.length);
      else choose((Math.max(chosen, 0) + shown.length - 1) % shown.length);
    }
  });
  input.addEventListener('focus', () => input.value && look());
  document.addEventListener('click', (event) => box.contains(event.target) || close());
  box.addEventListener('focusout', (event) => box.contains(event.relatedTarget) || close());
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  box.hidden = false;
}

function option({ names: [name], where, kind }, at, go) {
  const made = document.createElement('li');
  made.id = `found-${at}`;
  made.setAttribute('role', 'option');
  made.setAttribute('aria-selected', 'false');
  for (const [tag, text] of [['span', kind], ['strong', name], ['small', where]]) {
    const part = document.createElement(tag);
    part.textContent = text;
    made.append(part, ' ');
  }
  // The field keeps the focus, so that the list is still there when the click arrives.
  made.addEventListener('mousedown', (event) => event.preventDefault());
  made.addEventListener('click', () => go(at));
  return made;
}

/** Unfolds what contains the target of the address, goes there and moves the focus there. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let around = target; around; around = around.parentElement) {
    if (around.localName === 'details') around.open = true;
  }
  document.querySelector('.found')?.classList.remove('found');
  target.classList.add('found');
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}
