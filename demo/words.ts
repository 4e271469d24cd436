import { readFileSync } from 'node:fs';
import { projectFile } from '../src/platform/project.ts';

/** The lists of words.txt: a line for each, `name: word, word`. */
const LISTS = new Map(
  readFileSync(projectFile('demo/words.txt'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(': '))
    .map(([name = '', words = '']) => [name, words.split(', ')]),
);

/** Returns a list of words by its name. */
export function wordsOf(name: string): readonly string[] {
  return LISTS.get(name) ?? [];
}

/** Returns fields that have the same value. @param list the name of the list of their names. */
export function all<T>(list: string, value: T): Record<string, T> {
  return Object.fromEntries(wordsOf(list).map((name) => [name, value]));
}
