import { LEAF_COUNT, nounOfLeaf } from '../catalog/categories.ts';

/** The parts of a site's search terms. */
interface Vocabulary {
  nouns: readonly { text: string; leaf: number }[];
  before: readonly string[];
  after: readonly string[];
  /** Separator between the parts of a term. */
  gap: string;
}

const leaves = Array.from({ length: LEAF_COUNT }, (_, leaf) => leaf);
const englishNouns = leaves.map((leaf) => ({ text: nounOfLeaf(leaf).toLowerCase(), leaf }));

const AUDIENCES =
  'for women,for men,for kids,for adults,for dogs,for cats,for travel,for home,for office,for car';
const QUALITIES =
  'best,cheap,small,large,mini,black,white,pink,blue,red,green,wooden,wireless,waterproof,foldable,heavy duty,' +
  'organic,vintage,modern,cute,professional,portable,electric,rechargeable,stainless steel,kids,mens,womens,baby,' +
  'luxury,cordless,adjustable,reusable,handmade,outdoor,indoor,travel,magnetic,silent';
const TAILS =
  'set,with lid,2 pack,3 pack,10 pack,gift,replacement,parts,accessories,kit,near me,2026,clearance,sale,bundle,xl,small size,refill,cover,stand';

const english: Vocabulary = {
  nouns: englishNouns,
  before: ['', ...QUALITIES.split(',')],
  after: ['', ...combined(AUDIENCES.split(','), ['', ...TAILS.split(',')])],
  gap: ' ',
};

const VOCABULARIES: Record<string, Vocabulary> = {
  us: withSome(english, '手机壳,充电宝,耳机,保温杯,猫粮,瑜伽垫,台灯,雨伞'),
  uk: english,
  ca: english,
  de: european(
    'günstig,klein,groß,schwarz,weiß,wasserdicht,kabellos,faltbar,holz,edelstahl',
    'für hunde,für kinder,für damen,für herren,für büro,für reisen,set,ersatz,geschenk,test',
  ),
  fr: european(
    'petit,grand,noir,blanc,étanche,sans fil,pliable,en bois,pas cher,électrique',
    'pour chien,pour enfant,pour femme,pour homme,pour bureau,pour voyage,lot de 2,recharge,cadeau,avis',
  ),
  it: european(
    'piccolo,grande,nero,bianco,impermeabile,senza fili,pieghevole,in legno,economico,elettrico',
    'per cani,per bambini,da donna,da uomo,per ufficio,da viaggio,set,ricambio,regalo,offerta',
  ),
  es: european(
    'pequeño,grande,negro,blanco,impermeable,inalámbrico,plegable,de madera,barato,eléctrico',
    'para perros,para niños,para mujer,para hombre,para oficina,para viaje,juego,recambio,regalo,oferta',
  ),
  mx: european(
    'pequeño,grande,negro,blanco,impermeable,inalámbrico,plegable,de madera,barato,eléctrico',
    'para perro,para niños,para mujer,para hombre,para oficina,para viaje,kit,repuesto,regalo,oferta',
  ),
  jp: {
    nouns:
      'ヘッドホン,スピーカー,充電器,モバイルバッテリー,フライパン,収納ボックス,枕,布団カバー,化粧水,日焼け止め,シャンプー,ドライヤー,口紅,ブロック,ボードゲーム,パズル,ヨガマット,テント,寝袋,ライト,犬ベッド,猫砂,猫タワー,水槽,ノート,付箋,デスクライト,万年筆,植木鉢,傘,スマホスタンド,掃除機,哺乳瓶,ベビーカー,水筒'
        .split(',')
        .map((text, i) => ({ text, leaf: (i * 7) % LEAF_COUNT })),
    before: [
      '',
      ...'小型 ,大容量 ,防水 ,折りたたみ ,木製 ,黒い,白い,可愛い,高級 ,電動 ,軽量 ,業務用 ,キッズ,メンズ ,レディース '.split(
        ',',
      ),
    ],
    after: [
      '',
      ...combined(' 女性用, 男性用, 子供用, 犬用, 旅行用, 車用, オフィス'.split(','), [
        '',
        ...' おしゃれ, 人気, セット, 安い, 詰め替え, ギフト'.split(','),
      ]),
    ],
    gap: '',
  },
};

/** Returns the `n`th search term of a site, always the same, and the leaf of its products. */
export function termAt(site: string, n: number): { term: string; leaf: number } {
  const { nouns, before, after, gap } = VOCABULARIES[site] ?? english;
  // Consecutive terms have different subjects. After all combinations, terms get a number.
  const all = nouns.length * before.length * after.length;
  const mixed = (n * STEP) % all;
  const noun = nouns[mixed % nouns.length];
  const first = before[Math.floor(mixed / nouns.length) % before.length] ?? '';
  const last = after[Math.floor(mixed / nouns.length / before.length)] ?? '';
  const round = Math.floor(n / all);
  let term = first;
  for (const part of [noun?.text ?? '', last, round === 0 ? '' : ` ${round + 1}`])
    if (part !== '') term += term === '' ? part : gap + part;
  return { term, leaf: noun?.leaf ?? 0 };
}

/** A prime, so that its multiples reach every combination. */
const STEP = 1_000_003;

function european(qualities: string, tails: string): Vocabulary {
  const before = ['', ...qualities.split(',')];
  return { nouns: englishNouns, before, after: ['', ...tails.split(',')], gap: ' ' };
}

/** Replaces some nouns of a vocabulary. */
function withSome(vocabulary: Vocabulary, nouns: string): Vocabulary {
  const more = nouns.split(',').map((text, i) => ({ text, leaf: i }));
  return { ...vocabulary, nouns: [...vocabulary.nouns, ...more] };
}

function combined(first: readonly string[], second: readonly string[]): string[] {
  return first.flatMap((one) =>
    second.map((other) => (other === '' ? one : `${one}${other.startsWith(' ') ? '' : ' '}${other}`)),
  );
}
