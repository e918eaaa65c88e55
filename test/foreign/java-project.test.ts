import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>exchange.test</groupId><artifactId>words</artifactId><version>1</version></project>`;

test.skipIf(javaMissing('absent') !== undefined)(
  'a Java program is compiled again when its source has changed, and only then',
  async () => {
    const project = await makeTestFolder();
    const cache = join(project, 'cache');
    const says = async (word: string) => {
      const source = `public class Words { public static void main(String[] a) { System.out.print("${word}"); } }`;
      await writeFile(join(project, 'Words.java'), source);
      buildJava({ project, mainClass: 'Words', cache });
      return execFileSync('java', ['-cp', classPathOf(cache), 'Words'], {
        encoding: 'utf8',
      });
    };
    await writeFile(join(project, 'pom.xml'), POM);
    expect(await says('first')).toBe('first');
    expect(await says('second')).toBe('second');
    const compiled = statSync(join(cache, 'classes')).ino;
    expect(await says('second')).toBe('second');
    expect(statSync(join(cache, 'classes')).ino).toBe(compiled);
  },
);
