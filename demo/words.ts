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

/** Returns fields that have the same value. @param names separated by spaces. */
export function all<T>(value: T, names: string): Record<string, T> {
  return Object.fromEntries(names.split(' ').map((name) => [name, value]));
}
