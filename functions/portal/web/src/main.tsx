import { render } from 'preact';

import { App } from './app';
import { applyTheme } from './preferences';
import { takeLink } from './sign-in';

const link = takeLink();
applyTheme();
const place = document.getElementById('app');
if (place) render(<App link={link} />, place);
