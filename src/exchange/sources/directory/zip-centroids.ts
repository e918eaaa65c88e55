import { readFileSync } from 'node:fs';

/** Degrees, WGS 84. */
export interface Position {
  latitude: number;
  longitude: number;
}

interface Centroids {
  zips: ReadonlyMap<number, Position>;
  /** Of all zips that begin with the same three digits. */
  areas: ReadonlyMap<number, Position>;
}

let known: Centroids | undefined;

/**
 * Where a zip code is: the centre of its area, to about a mile. A zip without an
 * area of its own (post boxes, single buildings) is placed at the centre of the
 * zips that begin with the same three digits. Undefined for any other text.
 *
 * @param zip 5 digits
 */
export function positionOfZip(zip: string): Position | undefined {
  if (!/^\d{5}$/.test(zip)) return undefined;
  known ??= readCentroids();
  const number = Number(zip);
  return known.zips.get(number) ?? known.areas.get(Math.floor(number / 100));
}

function readCentroids(): Centroids {
  const file = new URL('./zip-centroids.txt', import.meta.url);
  const zips = new Map<number, Position>();
  const sums = new Map<number, { zips: number } & Position>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [zip = 0, north = 0, east = 0] = line.split(' ').map(Number);
    const latitude = north / 100;
    const longitude = east / 100;
    zips.set(zip, { latitude, longitude });

    const area = Math.floor(zip / 100);
    const sum = sums.get(area) ?? { zips: 0, latitude: 0, longitude: 0 };
    sum.zips += 1;
    sum.latitude += latitude;
    sum.longitude += longitude;
    sums.set(area, sum);
  }
  const areas = [...sums].map(
    ([area, sum]) =>
      [
        area,
        {
          latitude: sum.latitude / sum.zips,
          longitude: sum.longitude / sum.zips,
        },
      ] as const,
  );
  return { zips, areas: new Map(areas) };
}
