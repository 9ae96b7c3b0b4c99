// `phoneFrom` of lead-capture-2.js, without a browser: what people type and paste, against the numbering plans of all
// countries. libphonenumber-js is the judge. `lead-capture-1.js` is tested in script.test.js.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const { getCountries, getExampleNumber, parsePhoneNumber } = require('libphonenumber-js/max');
const examples = require('libphonenumber-js/mobile/examples');

const SCRIPT = new URL('../../functions/leads/scripts/lead-capture-2.js', import.meta.url);
const { phoneFrom } = await import(`data:text/javascript;base64,${readFileSync(SCRIPT).toString('base64')}`);

/** Random numbers, the same in each run. */
function randoms(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

/** Valid numbers of a country that the API takes: the example of the judge, and others like it, of all kinds. */
function numbersOf(country) {
  const example = getExampleNumber(country, examples);
  const numbers = [example];
  const random = randoms([...country].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7));
  for (let tries = 0; tries < 400 && numbers.length < 25; tries += 1) {
    const digits = [...example.nationalNumber];
    // From the end in half of the tries, and from the beginning in the others.
    const kept = random(2) === 0 ? random(digits.length) : 0;
    for (let at = kept; at < digits.length; at += 1) digits[at] = String(random(10));
    const number = parsePhoneNumber(`+${example.countryCallingCode}${digits.join('')}`);
    if (number?.isValid() && number.country === country) numbers.push(number);
  }
  return numbers.filter(({ number }) => /^\+[0-9]{8,15}$/.test(number));
}

test('numbers of all countries, as their people write them', () => {
  const wrong = [];
  for (const country of getCountries()) {
    for (const number of numbersOf(country)) {
      const { number: right, countryCallingCode: code } = number;
      const national = number.formatNational();
      for (const [text, home] of [
        [right],
        [right, country],
        [right, country === 'ES' ? 'DE' : 'ES'],
        [number.formatInternational()],
        [number.getURI()],
        [`00${right.slice(1)}`],
        [national, country],
        [national.replace(/\D/g, ''), country],
        [`+${code} ${national}`],
        [`00${code} (${national.slice(0, 1)})${national.slice(1)}`],
      ]) {
        const got = phoneFrom(text, home);
        if (got !== right) wrong.push({ country, text, home, right, got });
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test('a country code without its plus is recognised in a number that is too long for the country', () => {
  for (const [text, country, number] of [
    ['34600111222', 'ES', '+34600111222'],
    ['34 600 111 222', 'ES', '+34600111222'],
    ['4915112345678', 'DE', '+4915112345678'],
    ['447911123456', 'GB', '+447911123456'],
    ['4407911123456', 'GB', '+447911123456'],
    ['5511987654321', 'BR', '+5511987654321'],
    ['5215512345678', 'MX', '+525512345678'],
    ['12025550123', 'US', '+12025550123'],
    ['79161234567', 'RU', '+79161234567'],
    ['393912345678', 'IT', '+393912345678'],
    // Italian mobiles begin with 391, too.
    ['3912345678', 'IT', '+393912345678'],
  ]) {
    assert.equal(phoneFrom(text, country), number, `${text} in ${country}`);
  }
});

test('what people type and paste', () => {
  for (const [text, number, country] of [
    ['\u2068+34 600 111 222\u2069', '+34600111222'],
    ['\u2066+34 600 111 222\u2069', '+34600111222'],
    ['\u202a+34 600\u2011111\u2011222\u202c', '+34600111222'],
    ['\u2060+34600111222', '+34600111222'],
    ['+34\u200b600111222', '+34600111222'],
    ['\ufeff+34600111222', '+34600111222'],
    ['+34\u00ad600111222', '+34600111222'],
    ['\u061c+971501234567', '+971501234567'],
    ['+1\ufe0d-202-555-0123', '+12025550123'],
    ['+34\u2212600\u2212111\u2212222', '+34600111222'],
    ['+34\u2013600\u2014111\u00b7222', '+34600111222'],
    ['+34\u00a0600.111/222', '+34600111222'],
    ['[+34] (600) 111 222', '+34600111222'],
    ['+\u0669\u0667\u0661 \u0665\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667', '+971501234567'],
    ['+\u06f9\u06f8 \u06f9\u06f1\u06f2\u06f3\u06f4\u06f5\u06f6\u06f7\u06f8\u06f9', '+989123456789'],
    ['+\u096f\u0967 \u096f\u096e\u096d\u096c\u096b\u096a\u0969\u0968\u0967\u0966', '+919876543210'],
    ['\uff0b34600111222', '+34600111222'],
    ['\uff0b\uff18\uff11 90\u30fc1234\u30fc5678', '+819012345678'],
    ['\uff10\uff19\uff10\uff0d1234\uff0d5678', '+819012345678', 'JP'],
    ['+1\uff08202\uff095550123', '+12025550123'],
    ['tel:+34600111222', '+34600111222'],
    ['TEL:+34-600-111-222;ext=5', '+34600111222'],
    ['+44 (0)20 7946 0000', '+442079460000'],
    ['+44 ( 0 ) 7911 123456', '+447911123456'],
    ['+44 07911 123456', '+447911123456'],
    ['0033 06 12 34 56 78', '+33612345678'],
    ['+49 0151 12345678', '+4915112345678'],
    ['+593 09 6234 5678', '+593962345678'],
    ['+36 06 20 123 4567', '+36201234567'],
    ['+7 8 (916) 123-45-67', '+79161234567'],
    ['8 (800) 123-45-67', '+78001234567', 'RU'],
    ['8 029 123-45-67', '+375291234567', 'BY'],
    ['+55 (011) 98765-4321', '+5511987654321'],
    ['0 15 11 98765-4321', '+5511987654321', 'BR'],
    ['(11) 98765-4321', '+5511987654321', 'BR'],
    ['+52 1 55 1234 5678', '+525512345678'],
    ['044 55 1234 5678', '+525512345678', 'MX'],
    ['55 1234 5678', '+525512345678', 'MX'],
    ['+54 11 15 2345 6789', '+5491123456789'],
    ['011 15-2345-6789', '+5491123456789', 'AR'],
    ['(0351) 15 234 5678', '+5493512345678', 'AR'],
    ['02901 15 412345', '+5492901412345', 'AR'],
    ['+54 9 11 2345 6789', '+5491123456789'],
    // A zero that belongs to the number.
    ['+39 02 3661 8300', '+390236618300'],
    ['02 3661 8300', '+390236618300', 'IT'],
    ['07 07 12 34 56', '+2250707123456', 'CI'],
    ['+225 07 07 12 34 56', '+2250707123456'],
    ['01 97 12 34 56', '+2290197123456', 'BJ'],
    ['06 612 34 56', '+242066123456', 'CG'],
    ['062 12 34 56', '+24162123456', 'GA'],
    // The number of another country.
    ['+34 600 111 222', '+34600111222', 'US'],
    ['0034 600 111 222', '+34600111222', 'GB'],
    ['011 34 600 111 222', '+34600111222', 'US'],
    ['0011 34 600 111 222', '+34600111222', 'AU'],
    ['010 34 600 111 222', '+34600111222', 'JP'],
    ['600 111 222', '+34600111222', 'es'],
    // Codes without a country.
    ['+800 1234 5678', '+80012345678'],
    ['+999 123 456', '+999123456'],
    // No number.
    ['600 111 222', null],
    ['(0)600111222', null],
    ['+1234567', null],
    ['+1234567890123456', null],
    ['+034600111222', null],
    ['+34 600 111 22a', null],
    ['+34+600111222', null],
    ['600 111 222 +34', null],
    ['12', null, 'ES'],
    ['+', null, 'ES'],
    ['', null],
    ['', null, 'ES'],
  ]) {
    assert.equal(phoneFrom(text, country), number, `${JSON.stringify(text)} in ${country}`);
  }
});

test('digits of every script are digits', () => {
  let scripts = 0;
  for (let zero = 0x100; zero < 0x20000; zero += 1) {
    const digits = Array.from({ length: 10 }, (_, value) => String.fromCodePoint(zero + value));
    const isScript = digits.every((character) => /\p{Decimal_Number}/u.test(character)) && !/\p{Decimal_Number}/u.test(String.fromCodePoint(zero - 1));
    if (!isScript) continue;
    scripts += 1;
    assert.equal(phoneFrom(`+4${digits.join('')}`), '+40123456789', zero.toString(16));
  }
  assert.ok(scripts > 50, String(scripts));
});

test('an unknown country causes an error that names it', () => {
  assert.throws(() => phoneFrom('600111222', 'XX'), /phoneFrom: there is no country XX/);
  assert.throws(() => phoneFrom('600111222', 'Spain'), TypeError);
});
