// Part of `npm run check`: finds words that make sentences hard to read, words that docs/glossary.md has retired, and marks of unresolved conflicts.
// A line that needs such a word, a quotation for example, carries the mark `plain-english: allow`, or the line before it does.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);

const PLACES = [
  'src',
  'jobs',
  'workers',
  'demo',
  'clients',
  'bench',
  'scripts',
  'test',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
];
const ALLOWED = 'plain-english: allow';

/** Expressions, each with the advice that is printed with it. */
const WORDS = [
  [/\b(whoever|whatever|whichever|whosoever)\b/i, 'name the subject'],
  [/\bnobody\b/i, 'name the subject: "no caller", "no process"'],
  [/\b(anew|by and by|as yet|comes again|has brought)\b/i, 'use a common word'],
  [/\bwhat (is|was|are) [^.,;:]{1,60} (is|was|are)\b/i, 'begin with a noun'],
  [/\b(that|which) (is|are) (no|none)\b(?! (longer|more))/i, '"that is not a ...", "without ..."'],
  [/\btold\b/, 'say who sends what: "receives", "returns", "is notified"'],
  [/\bhurr(y|ies|ied)\b/i, 'promote'],
  [/\bhungry\b/i, 'pending'],
  [/\brideOut\b|\brid(e|es|ing) out\b/i, 'retryDuringOutage'],
  [/\b(news|book)s? of (a |the )?(job|call|batch|operation)s?\b/i, 'completion message; usage statistics'],
  [/\bdesk\b(?!( |%20)lamp)/i, 'operator console'],
  [/\bdoors?\b/i, 'rate-limited endpoint'],
  [/^(<{7}|>{7}) /, 'resolve the conflict'],
];

/** Returns the uses of these words, as `file:line: "word": advice`. */
export function unplainWords() {
  const files = spawnSync('git', ['ls-files', '--', ...PLACES], { cwd: root, encoding: 'utf8' });
  return files.stdout
    .split('\n')
    .filter((path) => /\.(ts|tsx|mjs|js|sql|md)$/.test(path) && path !== 'scripts/plain-english.mjs')
    .flatMap((path) => usesIn(path, readFileSync(join(root, path), 'utf8')));
}

/** Returns the uses in a file. @param text the content of the file at `path`. */
function usesIn(path, text) {
  const lines = text.split('\n');
  return lines.flatMap((line, i) => {
    if (line.includes(ALLOWED) || lines[i - 1]?.includes(ALLOWED)) return [];
    return WORDS.flatMap(([expression, advice]) => {
      const [word] = expression.exec(line) ?? [];
      return word ? [`${path}:${i + 1}: "${word}": ${advice}`] : [];
    });
  });
}

if (process.argv[1]?.endsWith('plain-english.mjs')) {
  const uses = unplainWords();
  for (const use of uses) console.log(use);
  process.exit(uses.length === 0 ? 0 : 1);
}
