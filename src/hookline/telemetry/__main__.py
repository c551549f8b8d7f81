"""Write docs/metrics.md to standard output."""

import sys

from hookline.telemetry._pages import metrics_page

sys.stdout.write(metrics_page())
