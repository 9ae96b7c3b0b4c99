// Each version of the script by itself, as the lead capture API serves it, on a page with a simulated API: the behaviour
// that tenants can rely on. phone.test.js has more numbers.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { launch, open, stack } from './stack.js';

const scriptOf = (version) => `${stack.captureUrl}/api/v1/leadscout/scripts/lead-capture-${version}.js`;

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

for (const version of [1, 2]) describe(`lead-capture-${version}.js`, () => {
  const SCRIPT = scriptOf(version);

  /**
   * Sends a lead to an API that answers `reply` (a response, a status, 'hang' or 'cut'). Returns the outcome and the body
   * that was sent. `given` is a function that runs in the page first and may return settings.
   */
  async function sent(reply, { query = '', settings = {}, lead = {}, given = () => ({}) } = {}) {
    const page = await open(browser, `${stack.landingUrl}/${query}`);
    let body = null;
    await page.route('**/campaign-leads**', (route) => {
      body = route.request().postDataJSON();
      if (reply === 'hang') return undefined;
      if (reply === 'cut') return route.abort();
      return route.fulfill(typeof reply === 'number' ? { status: reply, body: 'no JSON' } : reply);
    });
    await page.evaluate(`window.given = ${given}`);
    const outcome = await page.evaluate(
      async ({ SCRIPT, settings, lead }) => {
        const script = await import(SCRIPT);
        return script.sendLead(
          {
            captureUrl: `${location.origin}/`,
            workspaceId: 'one & only',
            captureKey: 'key',
            token: async () => 'token',
            ...settings,
            ...window.given(script),
          },
          { cellphone: '+34600111222', consentedAt: new Date(0), ...lead },
        );
      },
      { SCRIPT, settings, lead },
    );
    await page.context().close();
    return { outcome, body };
  }

  test('each response has its outcome', async () => {
    const json = { status: 202, contentType: 'application/json', body: '{"requestId":"r-1"}' };
    assert.deepEqual((await sent(json)).outcome, { outcome: 'accepted', requestId: 'r-1' });
    for (const [reply, outcome] of [
      [400, { outcome: 'rejected' }],
      [403, { outcome: 'rejected' }],
      [413, { outcome: 'rejected' }],
      [422, { outcome: 'try-again' }],
      [429, { outcome: 'try-again' }],
      [500, { outcome: 'try-again' }],
      [504, { outcome: 'try-again' }],
      ['cut', { outcome: 'try-again' }],
      // The status alone says that the lead is accepted.
      [202, { outcome: 'accepted', requestId: null }],
    ]) {
      assert.deepEqual((await sent(reply)).outcome, outcome, String(reply));
    }
  });

  test('a silent API or captcha is waited for no longer than allowed', async () => {
    assert.deepEqual((await sent('hang', { settings: { timeoutMs: 200 } })).outcome, { outcome: 'try-again' });
    const given = () => ({ token: () => new Promise(() => {}) });
    const { outcome, body } = await sent(202, { settings: { timeoutMs: 200 }, given });
    assert.deepEqual([outcome, body], [{ outcome: 'try-again' }, null]);
  });

  test('reCAPTCHA v3 makes the token for the action campaign_lead', async () => {
    const given = ({ recaptchaV3 }) => {
      window.grecaptcha = {
        ready: (then) => setTimeout(then, 10),
        execute: async (siteKey, options) => JSON.stringify([siteKey, options]),
      };
      return { token: recaptchaV3('site-key') };
    };
    const { body } = await sent(202, { given });
    assert.deepEqual(JSON.parse(body.recaptchaToken), ['site-key', { action: 'campaign_lead' }]);
  });

  test('a captcha that does not load causes no exception', async () => {
    for (const given of [
      ({ recaptchaV3 }) => ({ token: recaptchaV3('site-key') }),
      () => ({ token: () => Promise.reject(new Error('no network')) }),
      () => ({ token: () => { throw new Error('no network'); } }),
      ({ recaptchaV3 }) => {
        window.grecaptcha = {
          ready: (then) => setTimeout(() => { try { Promise.resolve(then()).catch(() => {}); } catch { /* as reCAPTCHA does */ } }),
          execute: () => { throw new Error('invalid site key'); },
        };
        return { token: recaptchaV3('site-key') };
      },
    ]) {
      const { outcome, body } = await sent(202, { given });
      assert.deepEqual([outcome, body], [{ outcome: 'try-again' }, null], String(given));
    }
  });

  test('a missing setting causes an error that names it', async () => {
    for (const name of ['captureUrl', 'workspaceId', 'captureKey', 'token']) {
      await assert.rejects(sent(202, { given: `() => ({ ${name}: '' })` }), new RegExp(`settings\\.${name} is missing`));
    }
  });

  test('fields that the visitor left out are null', async () => {
    for (const name of [undefined, null, '', '  ']) {
      const { body } = await sent(202, { lead: { name, consentedAt: null } });
      assert.deepEqual(body, {
        workspaceId: 'one & only',
        captureKey: 'key',
        cellphone: '+34600111222',
        name: null,
        brandId: null,
        landingUri: `${stack.landingUrl}/`,
        utm: {},
        consent: { status: 'NOT_PROVIDED', capturedAt: null, ...(version === 1 ? {} : { text: null }) },
        recaptchaToken: 'token',
      });
    }
  });

  test('the campaign is taken from the utm parameters of the URL, within the limits of the API', async () => {
    const one = await sent(202, { query: '?utm_source=a%20b&utm_source=second&utm_x-Y=%F0%9F%8C%8D&utm_=x&utm_term=&source=c' });
    assert.deepEqual(one.body.utm, { utm_source: 'a b', 'utm_x-Y': '🌍' });

    const broken = await sent(202, { query: '?utm_source=a%0D%0Ab&utm_%07campaign=%00spring', lead: { name: 'Ana\u0007 García' } });
    assert.deepEqual(broken.body.utm, { utm_source: 'ab', utm_campaign: 'spring' }, 'characters that the API refuses are removed');
    assert.equal(broken.body.name, 'Ana García');
    const long = await sent(202, { lead: { name: 'é'.repeat(200) } });
    assert.equal(long.body.name, 'é'.repeat(100));

    const many = Array.from({ length: 30 }, (_, index) => `utm_${index}=${'%F0%9F%8C%8D'.repeat(index === 0 ? 300 : 1)}`);
    const { utm, landingUri } = (await sent(202, { query: `?${many.join('&')}` })).body;
    assert.equal(Object.keys(utm).length, 20);
    assert.equal(utm.utm_0, '🌍'.repeat(256));
    assert.equal(landingUri, `${stack.landingUrl}/`, 'a URL that is too long is sent without its query');
  });

  if (version > 1) test('the text of the consent is sent within the limits of the API, and only with a consent', async () => {
    const textOf = async (lead) => (await sent(202, { lead })).body.consent.text;
    for (const [consentText, text] of [
      ['I agree to get messages.', 'I agree to get messages.'],
      [' I agree\u0007 to:\r\n\u2022 offers\n\u2022 news ', 'I agree to:\n\u2022 offers\n\u2022 news'],
      ['🌍'.repeat(2_001), '🌍'.repeat(2_000)],
      ['\u0000 \n', null],
      ['', null],
      [null, null],
      [undefined, null],
    ]) {
      assert.equal(await textOf({ consentText }), text);
    }
    assert.equal(await textOf({ consentText: 'I agree.', consentedAt: null }), null);
  });

  if (version > 1) test('the text beside a box is what the visitor sees of its labels', async () => {
    const page = await open(browser, stack.landingUrl);
    const beside = (html) =>
      page.evaluate(
        async ([SCRIPT, html]) => {
          document.body.innerHTML = html;
          return (await import(SCRIPT)).textBeside(document.querySelector('input'));
        },
        [SCRIPT, html],
      );
    for (const [html, text] of [
      ['<label><input type="checkbox">\n   I agree\n   that you <b>write</b> to me.</label>', 'I agree that you write to me.'],
      ['<input id="a" type="checkbox"><label for="a">I agree.</label><p>Not this</p>', 'I agree.'],
      ['<input id="a" type="checkbox"><label for="a">One</label><label for="a">Two</label>', 'One\nTwo'],
      ['<label><input type="checkbox"><span hidden>Acepto.</span><span>I agree to <a href="/terms">the terms</a>.</span></label>', 'I agree to the terms.'],
      ['<label><input type="checkbox">I agree:<br>offers</label>', 'I agree:\noffers'],
      ['<input type="checkbox">', null],
      ['<label><input type="checkbox"> </label>', null],
    ]) {
      assert.equal(await beside(html), text, html);
    }
    await page.context().close();
  });

  test('phone numbers are understood in the forms that people write', async () => {
    const page = await open(browser, stack.landingUrl);
    const phoneFrom = (text) =>
      page.evaluate(async ([SCRIPT, text]) => (await import(SCRIPT)).phoneFrom(text), [SCRIPT, text]);
    for (const [text, number] of [
      ['+34600111222', '+34600111222'],
      [' +34 600 11 12 22 ', '+34600111222'],
      ['0034 (600) 111-222', '+34600111222'],
      ['+44 (0)20 7946 0000', '+442079460000'],
      ['(0)600111222', null],
      ['+34\u00a0600.111/222', '+34600111222'],
      ['\u202a+34 600\u2011111\u2011222\u202c', '+34600111222'],
      ['+12345678', '+12345678'],
      ['+1234567', null],
      ['+123456789012345', '+123456789012345'],
      ['+1234567890123456', null],
      ['600111222', null],
      ['+034600111222', null],
      ['+34 600 111 22a', null],
      ['+٣٤٦٠٠١١١٢٢٢', version === 1 ? null : '+34600111222'],
      ['+44 07911 123456', version === 1 ? '+4407911123456' : '+447911123456'],
      ['', null],
    ]) {
      assert.equal(await phoneFrom(text), number, text);
    }
  });
});
