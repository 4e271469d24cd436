import type { LocalByName, LocalName } from '../../../operations/index.ts';
import { answerChartUrl } from './chart-url.ts';
import { answerCountries } from './countries.ts';
import { answerImageUrl } from './image-url.ts';
import type { LocalAnswer } from './local-answer.ts';
import { answerQuota } from './quota.ts';

/** The function that answers each local operation. The compiler requires one for each. */
export const LOCAL_ANSWERS: { [Name in LocalName]: LocalAnswer<LocalByName<Name>> } = {
  'account.quota': answerQuota,
  'market.charturl': answerChartUrl,
  'retail.imageurl': answerImageUrl,
  'aba.countries': answerCountries,
};
