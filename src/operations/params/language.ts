import { z } from 'zod';
import { problem } from './scalars.ts';

const WANTED = 'must be a language such as en-US, zh-CN or ja';

const SHAPE = /^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-[A-Za-z]{2})?$/;

const NAMES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });

/** The language of names and words in an answer, in its canonical spelling. */
export function language() {
  return z
    .string(problem(WANTED))
    .trim()
    .refine(isLanguage, WANTED)
    .transform((tag) => new Intl.Locale(tag).toString())
    .default('en-US')
    .describe('Language code');
}

function isLanguage(tag: string): boolean {
  return SHAPE.test(tag) && NAMES.of(new Intl.Locale(tag).language) !== undefined;
}
