import { isTestAccount } from '../../../accounts/authentication.ts';
import { SITES } from '../../../operations/params/domain.ts';
import type { imageUrl } from '../../../operations/retail/image-url.ts';
import type { LocalAnswer } from './local-answer.ts';

export const answerImageUrl: LocalAnswer<typeof imageUrl> = async (
  { links },
  { domain, images },
  { accountId },
) => {
  const host = isTestAccount(accountId) ? links.testImageUrl : links.imageCdnUrl;
  const items = images.map((image) => ({ image, url: `${host}/images/I/${image}` }));
  return { data: { country: SITES[domain], domainId: domain, count: items.length, items } };
};
