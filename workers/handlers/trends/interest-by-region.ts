import {
  type interestByRegion,
  resolutionToAskFor,
} from '../../../src/operations/trends/interest-by-region.ts';
import { single } from '../handler.ts';
import { questionOf } from './question.ts';

export const handleInterestByRegion = single<typeof interestByRegion>((input, context) =>
  context.upstream.trends.interestByRegion(questionOf(input), resolutionToAskFor(input), context),
);
