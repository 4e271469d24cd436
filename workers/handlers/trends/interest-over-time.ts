import type { interestOverTime } from '../../../src/operations/trends/interest-over-time.ts';
import { single } from '../handler.ts';
import { questionOf } from './question.ts';

export const handleInterestOverTime = single<typeof interestOverTime>((input, context) =>
  context.upstream.trends.interestOverTime(questionOf(input), context),
);
